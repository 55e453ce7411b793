// What the pages share.

import type { ReactNode } from "react";
import { useInstalled, useSession } from "../api/queries";
import type { Probe } from "../api/types";
import { ago, baseName } from "../lib/format";
import { sessionPath, type WorkPage, workPath } from "../lib/router";
import { safeName, safeText } from "../lib/safe";
import { choiceName } from "../lib/words";
import { wordsOf } from "../model/act";
import { useActs } from "../stream/acts";
import { Skeleton } from "../ui/Lazy";
import { Link } from "../ui/Link";

/** A state as a dot: blue works, amber waits for a person, red failed. */
const dots: Record<string, string> = {
  running: "busy", processing: "busy", restarting: "busy", waiting: "needs", interrupted: "needs", failed: "failed", completed: "done", finished: "done", kept: "done",
};

const words: Record<string, string> = {
  running: "Running", waiting: "Waits for you", interrupted: "Interrupted", failed: "Failed", completed: "Done", finished: "Ready to choose", kept: "Kept", dropped: "Dropped",
  stopped: "Stopped", skipped: "Skipped", pending: "To do", idle: "Idle", processing: "Working", restarting: "Starting again",
};

export const stateName = (state: string) => words[state] ?? state;

export function State({ state, name }: { state: string; name?: string }) {
  return <span className="state"><span className={`dot ${dots[state] ?? ""}`} aria-hidden="true" />{name || stateName(state)}</span>;
}

/** A page that is still loading, or failed to. */
export function Pending({ error, isPending }: { error: Error | null; isPending: boolean }) {
  if (error) return <p role="alert">{error.message}</p>;
  return isPending ? <Skeleton lines={5} /> : null;
}

/** The way back to a list, and the name of what is shown. */
export function Title({ page, list, name, children }: { page: WorkPage; list: string; name: string; children?: ReactNode }) {
  return (
    <div className="work-title">
      <Link to={workPath(page)} className="small dim">← {list}</Link>
      <div className="row wrap"><h1 className="grow">{safeName(name)}</h1>{children}</div>
    </div>
  );
}

export interface Line { id: string; name: string; cwd: string; state: string; at: string; fact?: ReactNode }

/** A list of things that were done, the newest first. */
export function Lines({ page, label, lines }: { page: WorkPage; label: string; lines: Line[] }) {
  return (
    <ul className="plain work-lines" aria-label={label}>
      {lines.map((l) => (
        <li key={l.id}>
          <Link to={workPath(page, l.id)} className="work-line">
            <strong className="cut grow">{safeName(l.name)}</strong>
            {l.fact}
            <span className="faint cut">{safeName(baseName(l.cwd))}</span>
            <State state={l.state} />
            <span className="faint number">{ago(l.at)}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

/** Agents that can work. */
export const useReady = (): Probe[] => useInstalled().agents;

/** Agents, of which the same one may be there several times. */
export function AgentList({ label, chosen, least, onChange }: { label: string; chosen: string[]; least: number; onChange: (chosen: string[]) => void }) {
  const agents = useReady();
  return (
    <fieldset className="field agents-list">
      <legend>{label}</legend>
      {chosen.map((agent, i) => (
        <div key={i} className="row">
          <select className="input" aria-label={`Agent ${i + 1}`} value={agent} onChange={(e) => onChange(chosen.map((a, at) => (at === i ? e.target.value : a)))}>
            <option value="">Choose an agent</option>
            {agents.map((a) => <option key={a.agent} value={a.agent}>{safeName(choiceName(a))}</option>)}
          </select>
          {chosen.length > least && <button type="button" className="button quiet" aria-label={`Remove agent ${i + 1}`} onClick={() => onChange(chosen.filter((_, at) => at !== i))}>Remove</button>}
        </div>
      ))}
      {chosen.length < 10 && <span><button type="button" className="button tiny" onClick={() => onChange([...chosen, ""])}>Add an agent</button></span>}
    </fieldset>
  );
}

/** A link to the session of an agent, with what it is doing. */
export function SessionLink({ session, live }: { session: string | undefined; live: boolean }) {
  const there = useSession(session ?? null);
  const act = useActs((a) => (session ? a.sessions[session] : undefined));
  if (!there) return null;
  return (
    <span className="row small session-link">
      {live && act && <span className="cut dim">{safeText(wordsOf(act))}</span>}
      <Link to={sessionPath(there.id)}>Open session</Link>
    </span>
  );
}
