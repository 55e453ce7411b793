import { Plus, Search } from "lucide-react";
import { memo, useRef, useState } from "react";
import { useFleet, useRequests, useSessions } from "../api/queries";
import { sessionPath, useRoute } from "../lib/router";
import { safeName } from "../lib/safe";
import { useView } from "../lib/state";
import { gist, shortly } from "../requests/words";
import { Button } from "../ui/Button";
import { Link } from "../ui/Link";
import { Brand } from "./Brand";
import { Messages } from "./Messages";
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

/** Drawn again for its own reasons only: what it stands beside changes many times a second. */
export const Sidebar = memo(function Sidebar() {
  const route = useRoute();
  const list = useRef<HTMLDivElement>(null);
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
