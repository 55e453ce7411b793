import { useEffect, useRef, useState } from "react";
import { useNames } from "../api/names";
import { useAgents, useRequests, useRoots, useSessions } from "../api/queries";
import type { Probe, Session } from "../api/types";
import { baseName, plural } from "../lib/format";
import { sessionPath } from "../lib/router";
import { safeName, safeProse } from "../lib/safe";
import { useSettings } from "../lib/state";
import { signInHint } from "../lib/words";
import { NeedLines, useAsLines } from "../requests/NeedLines";
import { RequestCard } from "../requests/RequestCard";
import { lookUpAct, useActs } from "../stream/acts";
import { Hint } from "../ui/Hint";
import { Link } from "../ui/Link";
import { HomeComposer } from "./HomeComposer";
import { Done } from "./HomeDone";
import { Summary } from "./HomeSummary";
import { Working } from "./HomeWorking";
import { Fresh, useStable } from "./stable";
import { startSession } from "./startSession";
import { examples } from "./Starters";

/** The place to work from: a new session, what needs an answer, who works, what ended. */
export function Home() {
  const sessions = useSessions();
  const list = sessions.data?.items ?? [];
  const [pointed, setPointed] = useState(false);
  const [focused, setFocused] = useState(false);
  const held = pointed || focused;
  const lists = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!focused) return;
    // A button that is disabled or taken away loses the focus without telling.
    const look = setInterval(() => { if (!lists.current?.contains(document.activeElement)) setFocused(false); }, 500);
    return () => clearInterval(look);
  }, [focused]);
  return (
    <main className="page">
      <div className="page-inner home">
        <h1 className="visually-hidden">Home</h1>
        <Summary sessions={list} />
        <HomeComposer />
        <div className="home-lists" ref={lists} onPointerEnter={() => setPointed(true)} onPointerLeave={() => setPointed(false)}
          onFocus={() => setFocused(true)} onBlur={(e) => setFocused(e.currentTarget.contains(e.relatedTarget))}>
          <Needs sessions={list} held={held} />
          <Working sessions={list} held={held} />
          <Done sessions={list} held={held} />
          <NotWell />
        </div>
        {sessions.isSuccess && list.length === 0 && <Examples />}
      </div>
    </main>
  );
}

const byRequest = (r: { request_id: string }) => r.request_id;

function Needs({ sessions, held }: { sessions: readonly Session[]; held: boolean }) {
  const { nameOf } = useNames();
  const { lines, fresh } = useStable(useRequests().data?.items ?? [], byRequest, held);
  const asLines = useAsLines(lines.length);
  if (lines.length === 0) return null;
  return (
    <section aria-label="Needs you">
      <div className="home-head"><h2>Needs you <span className="badge">{lines.filter((l) => !l.gone).length}</span></h2><Fresh count={fresh} /></div>
      {asLines && <NeedLines lines={lines} sessions={sessions} before={(s) => <LastWords session={s} held={held} />} />}
      {!asLines && lines.map(({ item: r, gone }) => {
        const s = sessions.find((x) => x.id === r.session);
        return (
          <div key={r.request_id} className={`home-need${gone ? " gone" : ""}`} inert={gone}>
            <Link to={sessionPath(r.session)} className="home-need-title small">
              <strong className="cut">{safeName(s?.title ?? "") || "New session"}</strong>
              <span className="faint cut">{s ? `${nameOf(s)} · ${safeName(baseName(s.cwd))}` : ""}</span>
              {gone && <span className="tag">Answered</span>}
            </Link>
            {s && <LastWords session={s} held={held} />}
            <RequestCard request={r} />
          </div>
        );
      })}
    </section>
  );
}

/** What the agent said before it asked. While the list is held, it neither comes nor goes. */
function LastWords({ session: s, held }: { session: Session; held: boolean }) {
  const shown = useRef("");
  const act = useActs((a) => a.sessions[s.id]);
  useEffect(() => {
    if (!act) void lookUpAct(s.id, s.last_seq);
  }, [act, s.id]);
  if (!held && act?.said) shown.current = act.said;
  return shown.current ? <p className="home-said dim">{safeProse(shown.current)}</p> : null;
}

/** Agents that are installed and cannot work, with the way out. */
function NotWell() {
  const { agentName } = useNames();
  const agents = (useAgents().data?.items ?? []).filter((a) => a.found && a.agent !== "native" && a.auth === "missing");
  if (agents.length === 0) return null;
  return (
    <section aria-label="Not ready">
      <div className="home-head"><h2>Not ready</h2></div>
      <ul className="plain small">
        {agents.map((a) => <li key={a.agent} className="home-hint"><strong>{safeName(agentName(a.agent))} is not signed in.</strong> {a.fix && <Hint text={signInHint(a.fix)} />}</li>)}
      </ul>
    </section>
  );
}

/** The agents that most people look for. */
const first = ["claude", "opencode", "codex"];

const Missing = ({ agents }: { agents: readonly Probe[] }) => <ul className="plain small dim">{agents.map((a) => <li key={a.agent}><Hint text={a.fix!} /></li>)}</ul>;

/** For those who have no session yet: examples that work at once. */
function Examples() {
  const roots = useRoots().data?.items ?? [];
  const last = useSettings((s) => s.lastFolder);
  const cwd = roots.some((r) => last === r.path || last.startsWith(`${r.path}/`)) ? last : (roots[0]?.path ?? "");
  const missing = (useAgents().data?.items ?? []).filter((a) => !a.found && a.fix);
  const others = missing.filter((a) => !first.includes(a.agent));
  return (
    <>
      <section className="column">
        <h2>Try one of these in {safeName(baseName(cwd))}</h2>
        <ul className="starter-list">
          {examples.map((e) => (
            <li key={e.text}>
              <button type="button" className="starter" disabled={!cwd} onClick={() => startSession({ cwd }, e.text)}>
                <span className="mono">{e.text}</span>
                <span className="faint small">{e.why}</span>
              </button>
            </li>
          ))}
        </ul>
      </section>
      {missing.length > 0 && (
        <section className="column">
          <h2>More agents</h2>
          <Missing agents={missing.filter((a) => first.includes(a.agent))} />
          {others.length > 0 && <details className="small"><summary>{plural(others.length, "other agent")}</summary><Missing agents={others} /></details>}
        </section>
      )}
    </>
  );
}
