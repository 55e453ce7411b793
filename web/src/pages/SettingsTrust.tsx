// The folders whose settings a person trusts, or does not.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { call, query } from "../api/http";
import { keys } from "../api/keys";
import type { List } from "../api/types";
import { ago } from "../lib/format";
import { safeName } from "../lib/safe";
import { attempt } from "../lib/toast";
import { Button } from "../ui/Button";
import { Skeleton } from "../ui/Lazy";

interface Decided { folder: string; decision: "trusted" | "refused"; by: string; at: string }

const since = (when: string) => (when === "now" ? "just now" : `${when} ago`);

export function Trusted() {
  const client = useQueryClient();
  const { data, error, isPending } = useQuery({ queryKey: keys.trusted, queryFn: ({ signal }) => call<List<Decided>>("/v1/trust/folders", { signal }) });
  const forget = async (folder: string) => {
    await attempt("It was not forgotten", () => call<void>(`/v1/trust${query({ folder })}`, { method: "DELETE" }));
    await client.invalidateQueries({ queryKey: keys.trusted });
    await client.invalidateQueries({ queryKey: ["trust"] });
  };
  return (
    <section className="column" aria-label="Trusted folders">
      <h2>Trusted folders</h2>
      {isPending && <Skeleton lines={2} />}
      {error && <p role="alert">{error.message}</p>}
      {data?.items.length === 0 && <p className="dim">You have not decided about any folder. A session in a folder with settings of its own asks you.</p>}
      <ul className="plain">
        {data?.items.map((d) => (
          <li key={d.folder} className="setting">
            <span><strong className="mono wrap">{safeName(d.folder)}</strong>
              <span className="dim small">{d.decision === "trusted" ? "Trusted" : "Not trusted"} · decided {since(ago(d.at))} by {safeName(d.by)}</span></span>
            <Button look="quiet" tiny aria-label={`Forget ${safeName(d.folder)}`} onClick={() => forget(d.folder)}>Forget</Button>
          </li>
        ))}
      </ul>
    </section>
  );
}
