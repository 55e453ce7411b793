import { useQuery, useQueryClient } from "@tanstack/react-query";
import { ShieldAlert } from "lucide-react";
import { call, query } from "../api/http";
import { useOwner } from "../api/queries";
import { baseName } from "../lib/format";
import { safeName } from "../lib/safe";
import { attempt } from "../lib/toast";
import { Button } from "../ui/Button";

interface Trust {
  hash?: string;
  files: { path: string; why: string }[];
  problem?: string;
  decision: "unknown" | "trusted" | "refused" | "nothing";
}

const keyOf = (cwd: string) => ["trust", cwd] as const;

const useTrust = (cwd: string) =>
  useQuery({ queryKey: keyOf(cwd), retry: false, staleTime: 10_000, queryFn: ({ signal }) => call<Trust>(`/v1/trust${query({ cwd })}`, { signal }) }).data;

/** What in a folder would act if a person trusted it, and the choice. Without a question it is not there. */
export function TrustStrip({ cwd }: { cwd: string }) {
  const trust = useTrust(cwd);
  if (!trust || trust.decision !== "unknown" || (trust.files.length === 0 && !trust.problem)) return null;
  return (
    <section className="trust-strip" aria-label="Folder settings">
      <ShieldAlert size={16} aria-hidden="true" />
      <div className="column grow">
        <strong>The settings in {safeName(baseName(cwd))} are ignored until you trust this folder.</strong>
        <What trust={trust} />
      </div>
      <Choice cwd={cwd} trust={trust} />
    </section>
  );
}

/** The same for the details of a session: what was decided can be changed there. */
export function TrustDetails({ cwd }: { cwd: string }) {
  const trust = useTrust(cwd);
  if (!trust || (trust.files.length === 0 && !trust.problem)) return null;
  return (
    <section className="column trust-details">
      <h3>Folder settings</h3>
      <p className="small">{{ unknown: "Ignored until you trust this folder.", trusted: "You trust this folder, so these act.", nothing: "", refused: "Ignored: you do not trust this folder." }[trust.decision]}</p>
      <What trust={trust} />
      <Choice cwd={cwd} trust={trust} />
    </section>
  );
}

function What({ trust }: { trust: Trust }) {
  if (trust.problem) return <p className="small">{safeName(trust.problem)}</p>;
  return (
    <ul className="plain small">
      {trust.files.map((f) => <li key={f.path}><span className="mono">{safeName(f.path)}</span> <span className="dim">{safeName(f.why)}</span></li>)}
    </ul>
  );
}

function Choice({ cwd, trust }: { cwd: string; trust: Trust }) {
  const client = useQueryClient();
  const owner = useOwner();
  const decide = async (trusted: boolean) => {
    // What counts is the content that was shown: if it has changed, the server refuses.
    const now = await attempt("Nothing was decided", () => call<Trust>("/v1/trust", { method: "POST", body: { cwd, hash: trust.hash, trusted } }));
    if (now) client.setQueryData(keyOf(cwd), now);
    else await client.invalidateQueries({ queryKey: keyOf(cwd) });
  };
  if (!owner || !trust.hash) return null;
  return (
    <div className="row">
      {trust.decision !== "trusted" && <Button tiny onClick={() => decide(true)}>Trust this folder</Button>}
      {trust.decision !== "refused" && <Button tiny look="quiet" onClick={() => decide(false)}>Don’t trust</Button>}
    </div>
  );
}
