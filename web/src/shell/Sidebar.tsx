import { Plus, Search } from "lucide-react";
import { useMemo, useState } from "react";
import { useRequests, useSessions } from "../api/queries";
import type { Session } from "../api/types";
import { ago, baseName, dollars } from "../lib/format";
import { sessionPath, useRoute } from "../lib/router";
import { safeName } from "../lib/safe";
import { useView } from "../lib/state";
import { dotOf, groupByFolder } from "../model/lists";
import { gist, shortly } from "../requests/words";
import { useEnded } from "../stream/ended";
import { useMissed } from "../stream/missed";
import { Button } from "../ui/Button";
import { Skeleton } from "../ui/Lazy";
import { Link } from "../ui/Link";
import { Brand } from "./Brand";

const pages = [
  { page: "usage", name: "Usage" },
  { page: "agents", name: "Agents" },
  { page: "rules", name: "Rules" },
  { page: "personas", name: "Personas" },
] as const;

const stateWords = { needs: "needs you", busy: "working", failed: "failed", done: "finished", idle: "idle" };

export function Sidebar() {
  const route = useRoute();
  const [words, setWords] = useState("");
  return (
    <nav className="pane side" aria-label="Sessions">
      <div className="bar">
        <Brand />
        <span className="grow" />
        <Button look="quiet" label="Commands (Ctrl-K)" onClick={() => useView.setState({ overlay: "palette" })}><Search size={16} /></Button>
        <Button look="quiet" label="New session (Alt-N)" onClick={() => useView.setState({ overlay: "new-session" })}><Plus size={16} /></Button>
      </div>
      <div className="search">
        <input className="input" type="search" placeholder="Search sessions" aria-label="Search sessions" value={words} onChange={(e) => setWords(e.target.value)} />
      </div>
      <div className="list">
        <NeedsYou words={words} />
        <SessionList words={words} chosen={route.page === "session" ? route.session : ""} />
      </div>
      <div className="side-foot">
        {pages.map(({ page, name }) => (
          <Link key={page} to={`/${page}`} className="button quiet" aria-current={route.page === page ? "page" : undefined}>{name}</Link>
        ))}
      </div>
    </nav>
  );
}

/** Whether all the words occur. */
const has = (text: string, words: string) => words.toLowerCase().split(/\s+/).every((w) => text.toLowerCase().includes(w));

const wordsOf = (s: Session) => `${s.title} ${s.cwd} ${s.agent} ${s.model}`;

function NeedsYou({ words }: { words: string }) {
  const sessions = useSessions().data?.items ?? [];
  const requests = (useRequests().data?.items ?? []).filter((r) => {
    const s = sessions.find((x) => x.id === r.session);
    return has(`${s ? wordsOf(s) : ""} ${gist(r, s?.cwd)}`, words);
  });
  if (requests.length === 0) return null;
  return (
    <section aria-label="Needs you">
      <h2>Needs you <span className="badge">{requests.length}</span></h2>
      <ul className="plain">
        {requests.map((r) => {
          const s = sessions.find((x) => x.id === r.session);
          return (
            <li key={r.request_id}>
              <Link to={sessionPath(r.session)} className="session" onClick={() => useView.setState({ phone: "chat" })}>
                <span className="dot needs" aria-hidden="true" />
                <span className="cut">{safeName(s?.title ?? "") || "New session"}</span>
                <span className="faint small">{shortly(r)}</span>
                <span className="under cut mono">{gist(r, s?.cwd)}</span>
              </Link>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function SessionList({ words, chosen }: { words: string; chosen: string }) {
  const { data, error, isPending } = useSessions();
  const groups = useMemo(() => {
    return groupByFolder((data?.items ?? []).filter((s) => has(wordsOf(s), words)));
  }, [data, words]);
  if (isPending) return <Skeleton lines={8} />;
  if (error) return <div className="empty" role="alert">{error.message}</div>;
  if (groups.length === 0) {
    return <div className="empty">{words ? "No matches" : "No sessions yet. Press Alt-N to start one."}</div>;
  }
  return groups.map((g) => (
    <section key={g.cwd} aria-label={safeName(baseName(g.cwd))}>
      <h2 title={safeName(g.cwd)}><span className="cut">{safeName(baseName(g.cwd))}</span></h2>
      <ul className="plain">{g.sessions.map((s) => <Entry key={s.id} session={s} chosen={s.id === chosen} />)}</ul>
    </section>
  ));
}

function Entry({ session: s, chosen }: { session: Session; chosen: boolean }) {
  const missed = useMissed((m) => s.id in m.sessions);
  const ended = useEnded((e) => e.sessions[s.id]);
  const state = missed ? "needs" : dotOf(s);
  const dot = ended && state === "idle" ? (ended.failed ? "failed" : "done") : state;
  return (
    <li>
      <Link to={sessionPath(s.id)} className={`session${ended ? " unread" : ""}`} aria-current={chosen ? "page" : undefined} data-session={s.id} onClick={() => useView.setState({ phone: "chat" })}>
        <span className={`dot ${dot}`}><span className="visually-hidden">{stateWords[dot]}</span></span>
        <span className="cut">{safeName(s.title) || "New session"}</span>
        {missed ? <span className="missed" title="A request timed out before you answered">missed</span> : <span className="faint small">{ago(s.updated_at)}</span>}
        <span className="under cut">{s.agent}{s.model ? ` · ${s.model}` : ""}{s.cost_usd > 0 ? ` · ${dollars(s.cost_usd)}` : ""}</span>
      </Link>
    </li>
  );
}
