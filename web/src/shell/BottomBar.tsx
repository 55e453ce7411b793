import { BellDot, FileDiff, List, MessageSquare } from "lucide-react";
import { useRequests } from "../api/queries";
import { useRoute } from "../lib/router";
import { type PhonePane, useView } from "../lib/state";
import { useConnection } from "../stream/live";

const panes: { id: PhonePane; name: string; Icon: typeof List }[] = [
  { id: "sessions", name: "Sessions", Icon: List },
  { id: "chat", name: "Chat", Icon: MessageSquare },
  { id: "needs", name: "Needs you", Icon: BellDot },
  { id: "side", name: "Changes", Icon: FileDiff },
];

export function BottomBar() {
  const phone = useView((s) => s.phone);
  const open = useRequests().data?.items.length ?? 0;
  const route = useRoute();
  const inSession = route.page === "session"; // elsewhere nothing has changed
  const away = useConnection((s) => s.state === "reconnecting");
  return (
    <nav className="bottom-bar" aria-label="Panes">
      {panes.filter(({ id }) => inSession || id !== "side").map(({ id, name, Icon }) => (
        <button key={id} type="button" aria-current={phone === id} onClick={() => useView.setState({ phone: id })}>
          <Icon size={20} aria-hidden="true" />
          {id === "chat" && away ? "Reconnecting" : id === "chat" && route.page === "home" ? "Home" : name}
          {id === "needs" && open > 0 && <span className="badge">{open}</span>}
        </button>
      ))}
    </nav>
  );
}
