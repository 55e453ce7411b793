import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../api/http";
import { useNames } from "../api/names";
import { refreshSessions, useOwner } from "../api/queries";
import type { List, Session } from "../api/types";
import { ago, baseName } from "../lib/format";
import { go, sessionPath } from "../lib/router";
import { safeName } from "../lib/safe";
import { attempt } from "../lib/toast";
import { Button } from "../ui/Button";
import { Skeleton } from "../ui/Lazy";
import { Link } from "../ui/Link";

/** A session that a person had with an agent without Terret. */
interface Discovered { agent: string; native_id: string; cwd: string; title: string; updated_at: string; size: number; session?: string }

const first = 100;

export default function FromOtherTools() {
  const owner = useOwner();
  const { agentName } = useNames();
  const client = useQueryClient();
  const [words, setWords] = useState("");
  const [most, setMost] = useState(first);
  const [busy, setBusy] = useState("");
  const { data, error, isPending } = useQuery({ queryKey: ["discovered"], enabled: owner, queryFn: ({ signal }) => call<List<Discovered>>("/v1/discovered", { signal }) });
  const found = (data?.items ?? []).filter((d) => `${d.title} ${d.cwd} ${agentName(d.agent)}`.toLowerCase().includes(words.toLowerCase()));
  const take = async (d: Discovered) => {
    setBusy(d.native_id);
    const made = await attempt("It could not be brought here", () => call<Session>("/v1/discovered", { method: "POST", body: { agent: d.agent, native_id: d.native_id } }));
    setBusy("");
    if (!made) return;
    await Promise.all([refreshSessions(client), client.invalidateQueries({ queryKey: ["discovered"] })]);
    go(sessionPath(made.id));
  };
  return (
    <div className="page-inner wide">
      <h1>From other tools</h1>
      <p className="dim">Sessions that you had with agents themselves, on the machine of the server. Bring one here with all that was said, and go on with what the agent remembers. Its own files stay as they are.</p>
      {!owner && <p role="alert">Only the owner of the server may see them.</p>}
      {owner && isPending && <Skeleton lines={8} />}
      {error && <p role="alert">{error.message}</p>}
      {data && data.items.length === 0 && <div className="empty"><strong>Nothing found</strong><span>Claude Code, OpenCode and Codex keep their sessions in your home folder; there are none yet.</span></div>}
      {data && data.items.length > 0 && (
        <>
          <input className="input" type="search" value={words} onChange={(e) => setWords(e.target.value)} placeholder="Title, folder or agent" aria-label="Filter" />
          <ul className="plain discovered">
            {found.slice(0, most).map((d) => (
              <li key={`${d.agent} ${d.native_id}`} className="row">
                <span className="column grow shrink">
                  <strong className="cut">{safeName(d.title) || "Without a title"}</strong>
                  <span className="small dim cut" title={safeName(d.cwd)}>{agentName(d.agent)} · {safeName(baseName(d.cwd))} · {ago(d.updated_at)} · {kilobytes(d.size)}</span>
                </span>
                {d.session
                  ? <Link to={sessionPath(d.session)}>Open</Link>
                  : <Button disabled={busy !== ""} onClick={() => void take(d)}>{busy === d.native_id ? "Reading…" : "Bring here"}</Button>}
              </li>
            ))}
          </ul>
          {found.length === 0 && <p className="dim">No session matches.</p>}
          {found.length > most && <Button look="quiet" onClick={() => setMost(most + first)}>Show more ({found.length - most})</Button>}
        </>
      )}
    </div>
  );
}

const kilobytes = (n: number) => (n < 1 << 20 ? `${Math.ceil(n / 1024)} KB` : `${(n / (1 << 20)).toFixed(1)} MB`);
