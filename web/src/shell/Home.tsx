import { Check } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { useAgents, useRequests, useRoots, useSessions, useUsage } from "../api/queries";
import type { Session } from "../api/types";
import { useNow } from "../lib/now";
import { ago, baseName, dollars, stopwatch } from "../lib/format";
import { sessionPath } from "../lib/router";
import { safeName, safeText } from "../lib/safe";
import { useSettings } from "../lib/state";
import { agentName, nameOf } from "../lib/words";
import { wordsOf } from "../model/act";
import { groupByFolder, isWorking } from "../model/lists";
import { RequestCard } from "../requests/RequestCard";
import { lookUpAct, useActs } from "../stream/acts";
import { type Ended, tickOff, useEnded } from "../stream/ended";
import { Button } from "../ui/Button";
import { Hint } from "../ui/Hint";
import { Link } from "../ui/Link";
import { HomeComposer } from "./HomeComposer";
import { useStable } from "./stable";
import { startSession } from "./startSession";
import { examples } from "./Starters";

/** The place to work from: a new session, what needs an answer, who works, what ended. */
export function Home() {
  const sessions = useSessions();
  const list = sessions.data?.items ?? [];
  const [pointed, setPointed] = useState(false);
  const [focused, setFocused] = useState(false);
  const held = pointed || focused;
  return (
    <main className="page">
      <div className="page-inner home">
        <h1 className="visually-hidden">Home</h1>
        <HomeComposer />
        <div className="home-lists" onPointerEnter={() => setPointed(true)} onPointerLeave={() => setPointed(false)}
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

function Fresh({ count }: { count: number }) {
  return count > 0 ? <span className="fresh small" role="status">{count} new</span> : null;
}

const byRequest = (r: { request_id: string }) => r.request_id;

function Needs({ sessions, held }: { sessions: readonly Session[]; held: boolean }) {
  const { lines, fresh } = useStable(useRequests().data?.items ?? [], byRequest, held);
  if (lines.length === 0) return null;
  return (
    <section aria-label="Needs you">
      <div className="home-head"><h2>Needs you <span className="badge">{lines.filter((l) => !l.gone).length}</span></h2><Fresh count={fresh} /></div>
      {lines.map(({ item: r, gone }) => {
        const s = sessions.find((x) => x.id === r.session);
        return (
          <div key={r.request_id} className={`home-need${gone ? " gone" : ""}`} inert={gone}>
            <Link to={sessionPath(r.session)} className="home-need-title small">
              <strong className="cut">{safeName(s?.title ?? "") || "New session"}</strong>
              <span className="faint">{s ? `${nameOf(s)} · ${safeName(baseName(s.cwd))}` : ""}</span>
              {gone && <span className="tag">Answered</span>}
            </Link>
            <RequestCard request={r} />
          </div>
        );
      })}
    </section>
  );
}

const byId = (s: Session) => s.id;
const foldFrom = 12; // sessions beyond which those that work are folded by folder

function Working({ sessions, held }: { sessions: readonly Session[]; held: boolean }) {
  // The oldest first: a line keeps its place while its agent works.
  const working = useMemo(() => sessions.filter((s) => isWorking(s.state) && s.open_requests === 0).sort((a, b) => (a.created_at < b.created_at ? -1 : 1)), [sessions]);
  const { lines, fresh } = useStable(working, byId, held);
  const now = useNow(working.length > 0);
  const groups = groupByFolder(lines.map((l) => l.item));
  const gone = new Set(lines.filter((l) => l.gone).map((l) => l.item.id));
  const rows = (list: readonly Session[]) => <ul className="plain">{list.map((s) => <WorkingRow key={s.id} session={s} now={now} gone={gone.has(s.id)} />)}</ul>;
  if (lines.length === 0) return <Money alone />;
  return (
    <section aria-label="Working">
      <div className="home-head"><h2>Working <span className="faint">{working.length}</span></h2><Fresh count={fresh} /><Money /></div>
      {lines.length <= foldFrom ? rows(lines.map((l) => l.item)) : groups.map((g) => (
        <details key={g.cwd} open={groups.length <= 2}>
          <summary className="small dim">{safeName(baseName(g.cwd))} <span className="faint">{g.sessions.length}</span></summary>
          {rows(g.sessions)}
        </details>
      ))}
    </section>
  );
}

function WorkingRow({ session: s, now, gone }: { session: Session; now: number; gone: boolean }) {
  const act = useActs((a) => a.sessions[s.id]);
  useEffect(() => {
    if (!act && !gone) void lookUpAct(s.id, s.last_seq);
  }, [act, gone, s.id]);
  return (
    <li className={`home-row${gone ? " gone" : ""}`}>
      <Link to={sessionPath(s.id)} className="home-link">
        <span className={`dot ${gone ? "" : "busy"}`} aria-hidden="true" />
        <strong className="cut home-title">{safeName(s.title) || "New session"}</strong>
        <span className="dim home-who">{nameOf(s)}</span>
        <span className="cut grow dim">{gone ? "ended" : act ? safeText(wordsOf(act)) : "working"}</span>
        <span className="faint number">{act?.since && !gone ? stopwatch(now - Date.parse(act.since)) : ""}</span>
        <span className="faint number">{s.cost_usd > 0 ? dollars(s.cost_usd) : ""}</span>
      </Link>
    </li>
  );
}

/** What today has cost. */
function Money({ alone = false }: { alone?: boolean }) {
  const today = new Date().toISOString().slice(0, 10);
  const cost = useUsage("day").data?.items.find((r) => r.key.startsWith(today))?.cost_usd ?? 0;
  if (cost === 0) return null;
  return <Link to="/usage" className={`small home-money${alone ? " alone" : ""}`}>{dollars(cost)} today</Link>;
}

const byEntry = ([id]: [string, Ended]) => id;
const shownAtOnce = 20;

function Done({ sessions, held }: { sessions: readonly Session[]; held: boolean }) {
  const ended = useEnded((e) => e.sessions);
  const there = useMemo(() => new Map(sessions.map((s) => [s.id, s])), [sessions]);
  const list = useMemo(() => Object.entries(ended).filter(([id]) => there.has(id)).sort(([, a], [, b]) => (a.at < b.at ? 1 : -1)), [ended, there]);
  const [all, setAll] = useState(false);
  const { lines, fresh } = useStable(list, byEntry, held);
  if (lines.length === 0) return null;
  return (
    <section aria-label="Done since you last looked">
      <div className="home-head">
        <h2>Done since you last looked <span className="faint">{list.length}</span></h2><Fresh count={fresh} />
        <Button tiny look="quiet" onClick={() => tickOff(...list.map(([id]) => id))}>Mark all seen</Button>
      </div>
      <ul className="plain">
        {(all ? lines : lines.slice(0, shownAtOnce)).map(({ item: [id, e], gone }) => {
          const s = there.get(id);
          return (
            <li key={id} className={`home-row${gone ? " gone" : ""}`}>
              <Link to={sessionPath(id)} className="home-link">
                <span className={`dot ${e.failed ? "failed" : "done"}`}><span className="visually-hidden">{e.failed ? "failed" : "finished"}</span></span>
                <strong className="cut home-title">{safeName(s?.title ?? "") || "New session"}</strong>
                <span className="dim home-who">{s ? nameOf(s) : ""}</span>
                <span className={`cut grow ${e.failed ? "tool-error" : "dim"}`}>{safeName((e.failed || e.text || "finished").split("\n", 1)[0]!)}</span>
                <span className="faint number">{ago(e.at)}</span>
              </Link>
              <Button tiny look="quiet" label={`Mark ${safeName(s?.title ?? "session")} as seen`} disabled={gone} onClick={() => tickOff(id)}><Check size={14} /></Button>
            </li>
          );
        })}
      </ul>
      {!all && lines.length > shownAtOnce && <button type="button" className="link small" onClick={() => setAll(true)}>Show {lines.length - shownAtOnce} more</button>}
    </section>
  );
}

/** Agents that are installed and cannot work, with the way out. */
function NotWell() {
  const agents = (useAgents().data?.items ?? []).filter((a) => a.found && a.agent !== "native" && a.auth === "missing");
  if (agents.length === 0) return null;
  return (
    <section aria-label="Not ready">
      <div className="home-head"><h2>Not ready</h2></div>
      <ul className="plain small">
        {agents.map((a) => <li key={a.agent} className="home-hint"><strong>{safeName(agentName(a.agent))} is not signed in.</strong> {a.fix && <Hint text={a.fix} />}</li>)}
      </ul>
    </section>
  );
}

/** For those who have no session yet: examples that work at once. */
function Examples() {
  const roots = useRoots().data?.items ?? [];
  const last = useSettings((s) => s.lastFolder);
  const cwd = roots.some((r) => last === r.path || last.startsWith(`${r.path}/`)) ? last : (roots[0]?.path ?? "");
  const missing = (useAgents().data?.items ?? []).filter((a) => !a.found && a.fix);
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
          <ul className="plain small dim">{missing.map((a) => <li key={a.agent}><Hint text={a.fix!} /></li>)}</ul>
        </section>
      )}
    </>
  );
}
