import { Bookmark, BookmarkMinus, BookmarkPlus, Check, ListFilter, Plus, Search } from "lucide-react";
import { type KeyboardEvent, memo, useRef, useState } from "react";
import { useFleet, useRequests, useSessions } from "../api/queries";
import { sessionPath, useRoute } from "../lib/router";
import { safeName } from "../lib/safe";
import { type SavedView, useSettings, useView } from "../lib/state";
import { gist, shortly } from "../requests/words";
import { Button } from "../ui/Button";
import { Link } from "../ui/Link";
import { Menu, type MenuEntry } from "../ui/Menu";
import { Brand } from "./Brand";
import { Messages } from "./Messages";
import { LabelDialog, PickedBar } from "./PickedBar";
import { unpickAll, usePicked } from "./picked";
import { has, SessionList, wordsOf } from "./SessionList";

const pages = [
  { page: "team", name: "Team" },
  { page: "usage", name: "Usage" },
  { page: "agents", name: "Agents" },
  { page: "rules", name: "Rules" },
  { page: "personas", name: "Personas" },
  { page: "fleet", name: "Fleet" },
  { page: "settings", name: "Settings" },
] as const;

const groupings = [
  { by: "folder", name: "By folder" },
  { by: "branch", name: "By branch" },
  { by: "agent", name: "By agent" },
  { by: "label", name: "By label" },
] as const;

/** What is searched for and how it is grouped, saved in this browser under its own words. */
function viewEntries(words: string, setWords: (words: string) => void, by: SavedView["by"], views: readonly SavedView[]): (MenuEntry | null | false)[] {
  const now = words.trim();
  const nameOf = (v: SavedView) => `${v.words}, ${groupings.find((g) => g.by === v.by)!.name.toLowerCase()}`;
  const others = views.filter((v) => v.words !== now || v.by !== by);
  return [
    views.length > 0 && null,
    ...views.map((v) => ({ label: nameOf(v), icon: <Bookmark size={14} />, onSelect: () => { setWords(v.words); useSettings.setState({ listBy: v.by }); } })),
    now !== "" && null,
    now !== "" && others.length === views.length && { label: "Save this view", icon: <BookmarkPlus size={14} />, onSelect: () => useSettings.setState({ views: [...views, { words: now, by }] }) },
    now !== "" && others.length < views.length && { label: "Forget this view", icon: <BookmarkMinus size={14} />, onSelect: () => useSettings.setState({ views: others }) },
  ];
}

/** Escape lets go of what is selected, before it stops anything. */
function onKeyDown(e: KeyboardEvent): void {
  if (e.key !== "Escape" || e.defaultPrevented || usePicked.getState().ids.length === 0) return;
  e.preventDefault();
  unpickAll();
}

/** Drawn again for its own reasons only: what it stands beside changes many times a second. */
export const Sidebar = memo(function Sidebar() {
  const route = useRoute();
  const list = useRef<HTMLDivElement>(null);
  const [words, setWords] = useState("");
  const listBy = useSettings((s) => s.listBy);
  const views = useSettings((s) => s.views);
  const fleet = !!useFleet().data?.node;
  return (
    <nav className="pane side" aria-label="Sessions" onKeyDown={onKeyDown}>
      <div className="bar">
        <Brand />
        <span className="grow" />
        <Button look="quiet" label="Commands (Ctrl-K)" onClick={() => useView.setState({ overlay: "palette" })}><Search size={16} /></Button>
        <Button look="quiet" label="New session (Alt-N)" onClick={() => useView.setState({ overlay: "new-session" })}><Plus size={16} /></Button>
      </div>
      <div className="search">
        <input className="input" type="search" placeholder="Search" aria-label="Search sessions and messages" value={words} onChange={(e) => setWords(e.target.value)} />
        <Menu
          trigger={<Button look="quiet" label="Group sessions"><ListFilter size={16} /></Button>}
          entries={[...groupings.map(({ by, name }) => ({ label: name, icon: <Check size={14} className={by === listBy ? "" : "unset"} aria-label={by === listBy ? "Now" : undefined} aria-hidden={by !== listBy} />, onSelect: () => useSettings.setState({ listBy: by }) })), ...viewEntries(words, setWords, listBy, views)]}
        />
      </div>
      <PickedBar />
      <LabelDialog />
      <div ref={list} className="list">
        <div>{route.page !== "home" && <NeedsYou words={words} />}</div>
        <SessionList box={list} words={words} chosen={route.page === "session" ? route.session : ""} />
        <Messages words={words} />
      </div>
      <div className="side-foot">
        {pages.filter(({ page }) => page !== "fleet" || fleet).map(({ page, name }) => (
          <Link key={page} to={`/${page}`} className="button quiet" aria-current={route.page === page || (page === "team" && "id" in route) ? "page" : undefined}>{name}</Link>
        ))}
      </div>
    </nav>
  );
});

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
