import { ChevronRight, MoreHorizontal, Plus, Search } from "lucide-react";
import { memo, type ReactNode, useMemo, useState } from "react";
import { useFleet, useRequests, useSessions } from "../api/queries";
import type { Session } from "../api/types";
import { useNow } from "../lib/now";
import { ago, dollars } from "../lib/format";
import { sessionPath, useRoute } from "../lib/router";
import { safeName } from "../lib/safe";
import { useView } from "../lib/state";
import { modelName, nameOf } from "../lib/words";
import { dotOf, folderName, isWorking } from "../model/lists";
import { gist, shortly } from "../requests/words";
import { tickOff, useEnded } from "../stream/ended";
import { useMissed } from "../stream/missed";
import { Button } from "../ui/Button";
import { Skeleton } from "../ui/Lazy";
import { Link } from "../ui/Link";
import { LateMenu, Menu } from "../ui/Menu";
import { Brand } from "./Brand";
import { arrange, keep, useKept } from "./kept";
import { Messages } from "./Messages";

const pages = [
  { page: "team", name: "Team" },
  { page: "usage", name: "Usage" },
  { page: "agents", name: "Agents" },
  { page: "rules", name: "Rules" },
  { page: "personas", name: "Personas" },
  { page: "fleet", name: "Fleet" },
  { page: "settings", name: "Settings" },
] as const;

const stateWords = { needs: "needs you", busy: "working", failed: "failed", done: "finished", idle: "idle" };

export function Sidebar() {
  const route = useRoute();
  const [words, setWords] = useState("");
  const fleet = !!useFleet().data?.node;
  return (
    <nav className="pane side" aria-label="Sessions">
      <div className="bar">
        <Brand />
        <span className="grow" />
        <Button look="quiet" label="Commands (Ctrl-K)" onClick={() => useView.setState({ overlay: "palette" })}><Search size={16} /></Button>
        <Button look="quiet" label="New session (Alt-N)" onClick={() => useView.setState({ overlay: "new-session" })}><Plus size={16} /></Button>
      </div>
      <div className="search">
        <input className="input" type="search" placeholder="Search" aria-label="Search sessions and messages" value={words} onChange={(e) => setWords(e.target.value)} />
      </div>
      <div className="list">
        {route.page !== "home" && <NeedsYou words={words} />}
        <SessionList words={words} chosen={route.page === "session" ? route.session : ""} />
        <Messages words={words} />
      </div>
      <div className="side-foot">
        {pages.filter(({ page }) => page !== "fleet" || fleet).map(({ page, name }) => (
          <Link key={page} to={`/${page}`} className="button quiet" aria-current={route.page === page || (page === "team" && "id" in route) ? "page" : undefined}>{name}</Link>
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
  const kept = useKept();
  const now = useNow(true, 30_000);
  const { pinned, folders, archived } = useMemo(() => arrange((data?.items ?? []).filter((s) => has(wordsOf(s), words)), kept), [data, words, kept]);
  if (isPending) return <Skeleton lines={8} />;
  if (error) return <div className="empty" role="alert">{error.message}</div>;
  if (pinned.length + folders.length + archived.length === 0) {
    return <div className="empty">{words ? "No sessions match" : "No sessions yet. Press Alt-N to start one."}</div>;
  }
  const all = folders.map((g) => g.cwd);
  const entries = (list: Session[]) => <ul className="plain">{list.map((s) => <Entry key={s.id} session={s} chosen={s.id === chosen} now={now} />)}</ul>;
  return (
    <>
      {pinned.length > 0 && <section aria-label="Pinned"><h2>Pinned</h2>{entries(pinned)}</section>}
      {folders.map((g) => (
        <Folder key={g.cwd} cwd={g.cwd} name={folderName(g.cwd, all)} sessions={g.sessions} open={!!words || !kept.folded.includes(g.cwd)}>{entries(g.sessions)}</Folder>
      ))}
      {archived.length > 0 && <Folder cwd={archive} name="Archived" sessions={archived} open={!!words || kept.folded.includes(archive)}>{entries(archived)}</Folder>}
    </>
  );
}

const archive = "archived"; // it is folded until it is asked for

/** The sessions of a project, which fold, with what can be done to all of them. */
function Folder({ cwd, name, sessions, open, children }: { cwd: string; name: string; sessions: Session[]; open: boolean; children: ReactNode }) {
  const title = safeName(name);
  const resting = sessions.filter((s) => !isWorking(s.state) && s.open_requests === 0).map((s) => s.id);
  const working = sessions.filter((s) => isWorking(s.state)).length;
  const flip = () => keep("folded", cwd === archive ? !open : open, cwd);
  return (
    <section aria-label={title}>
      <h2 title={safeName(cwd)} className="folder">
        <button type="button" className="fold" aria-expanded={open} onClick={flip}>
          <ChevronRight size={12} aria-hidden="true" /><span className="cut">{title}</span>
          {!open && <span className="faint">{sessions.length}</span>}
          {!open && working > 0 && <span className="dot busy"><span className="visually-hidden">{working} working</span></span>}
        </button>
        <Menu
          trigger={<Button look="quiet" tiny label={`All sessions in ${title}`} className="on-row"><MoreHorizontal size={14} /></Button>}
          entries={[
            { label: "Mark all seen", onSelect: () => tickOff(...sessions.map((s) => s.id)) },
            cwd === archive ? { label: "Take all out of the archive", onSelect: () => keep("archived", false, ...sessions.map((s) => s.id)) }
              : { label: `Archive all that rest (${resting.length})`, disabled: resting.length === 0, onSelect: () => keep("archived", true, ...resting) },
          ]}
        />
      </h2>
      {open && children}
    </section>
  );
}

/** A session in the list. Drawn again only when it or the time changes, since there may be hundreds. */
const Entry = memo(function Entry({ session: s, chosen, now }: { session: Session; chosen: boolean; now: number }) {
  const missed = useMissed((m) => s.id in m.sessions);
  const ended = useEnded((e) => e.sessions[s.id]);
  const pinned = useKept((k) => k.pinned.includes(s.id));
  const archived = useKept((k) => k.archived.includes(s.id));
  const state = missed ? "needs" : dotOf(s);
  const dot = ended && state === "idle" ? (ended.failed ? "failed" : "done") : state;
  return (
    <li className="entry">
      <Link to={sessionPath(s.id)} className={`session${ended ? " unread" : ""}`} aria-current={chosen ? "page" : undefined} data-session={s.id} onClick={() => useView.setState({ phone: "chat" })}>
        <span className={`dot ${dot}`}><span className="visually-hidden">{stateWords[dot]}</span></span>
        <span className="cut">{safeName(s.title) || "New session"}</span>
        {missed ? <span className="missed" title="A request timed out before you answered">missed</span> : <span className="faint small">{ago(s.updated_at, now)}</span>}
        <span className="under cut">{nameOf(s)}{s.model && s.agent !== "native" ? ` · ${modelName(s.model)}` : ""}{s.cost_usd > 0 ? ` · ${dollars(s.cost_usd)}` : ""}</span>
      </Link>
      <LateMenu
        trigger={<Button look="quiet" tiny label={`Actions for ${safeName(s.title) || "New session"}`} className="on-row"><MoreHorizontal size={14} /></Button>}
        entries={[
          { label: pinned ? "Unpin" : "Pin", onSelect: () => keep("pinned", !pinned, s.id) },
          { label: archived ? "Take out of the archive" : "Archive", onSelect: () => keep("archived", !archived, s.id) },
          !!ended && { label: "Mark as seen", onSelect: () => tickOff(s.id) },
        ]}
      />
    </li>
  );
});
