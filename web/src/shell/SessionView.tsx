import { ArrowRightLeft, Download, FileText, GitFork, MoreHorizontal, PanelRight, Pencil, Power, Redo2, Server, Trash2, Undo2 } from "lucide-react";
import { useEffect } from "react";
import { useNames } from "../api/names";
import { useCan, useFork, useOtherNodes, useSession } from "../api/queries";
import { Composer } from "../composer/Composer";
import { useShown } from "../conversation/context";
import { ConversationView } from "../conversation/ConversationView";
import { baseName } from "../lib/format";
import { usePhone } from "../lib/media";
import { sessionPath } from "../lib/router";
import { safeName } from "../lib/safe";
import { useView } from "../lib/state";
import { dotOf } from "../model/lists";
import { PlanList } from "../panes/PlanPane";
import { tickOff } from "../stream/ended";
import { seen, useMissed } from "../stream/missed";
import { Button } from "../ui/Button";
import { Link } from "../ui/Link";
import { Menu } from "../ui/Menu";
import { toggleRight, useRight } from "./rightPane";
import { Starters } from "./Starters";
import { TrustStrip } from "./Trust";
import { useSessionActions } from "./sessionActions";

export function SessionView() {
  const { session, conversation } = useShown();
  const items = conversation.threads.get("root")?.length ?? 0;
  useSeen(session.id);
  return (
    <main className="pane" aria-label={`Session ${session.title || "new"}`}>
      <Header />
      <Links />
      <TrustStrip cwd={session.cwd} />
      <PlanStrip />
      {items === 0 ? <Starters agent={session.agent} model={session.model || conversation.info.model} session={session.id} /> : <ConversationView />}
      <Composer key={session.id} />
    </main>
  );
}

/** What was missed here is seen once somebody moves or types. */
function useSeen(session: string): void {
  useEffect(() => {
    if (!document.hidden) tickOff(session);
  }, [session]);
  const missed = useMissed((m) => session in m.sessions);
  useEffect(() => {
    if (!missed) return;
    const stop = new AbortController();
    for (const sign of ["pointermove", "pointerdown", "keydown"]) window.addEventListener(sign, () => seen(session), { signal: stop.signal });
    return () => stop.abort();
  }, [session, missed]);
}

function Header() {
  const { nameOf } = useNames();
  const { session, conversation } = useShown();
  const actions = useSessionActions(session);
  const can = useCan(session.agent);
  const fork = useFork(session);
  const movable = useOtherNodes(session).length > 0;
  const items = conversation.threads.get("root")?.length ?? 0;
  const right = useRight();
  const phone = usePhone();
  return (
    <header className="bar">
      <span className={`dot ${dotOf({ ...session, state: conversation.state === "pending" ? session.state : conversation.state })}`} aria-hidden="true" />
      <h1 className="title cut grow" title={safeName(session.title)}>{safeName(session.title) || "New session"}</h1>
      {!phone && <span className="faint small cut shrink">{safeName(baseName(session.cwd))} · {nameOf(session)}</span>}
      <Menu
        trigger={<Button look="quiet" label="Session actions"><MoreHorizontal size={16} /></Button>}
        entries={[
          { label: "Rename…", icon: <Pencil size={14} />, onSelect: () => useView.setState({ overlay: "rename" }) },
          can("undo") && { label: "Undo last turn", icon: <Undo2 size={14} />, keys: "Alt U", disabled: !session.revert?.can_undo, onSelect: actions.undo },
          can("redo") && { label: "Redo", icon: <Redo2 size={14} />, disabled: !session.revert?.can_redo, onSelect: actions.redo },
          fork.whole && { label: "Fork", icon: <GitFork size={14} />, onSelect: () => actions.fork() },
          items > 0 && { label: "Hand over…", icon: <ArrowRightLeft size={14} />, onSelect: () => useView.setState({ overlay: "handoff" }) },
          movable && { label: "Move to another node…", icon: <Server size={14} />, onSelect: () => useView.setState({ overlay: "move" }) },
          { label: "Export as HTML", icon: <FileText size={14} />, onSelect: actions.exportHtml },
          { label: "Export for Terret", icon: <Download size={14} />, onSelect: actions.export },
          { label: "Stop agent process", icon: <Power size={14} />, onSelect: actions.close },
          null,
          { label: "Delete…", icon: <Trash2 size={14} />, danger: true, onSelect: () => useView.setState({ overlay: "delete" }) },
        ]}
      />
      {!phone && <Button look="quiet" label={right ? "Hide the side pane (Alt-])" : "Show changes, files and details (Alt-])"} aria-expanded={right} onClick={() => toggleRight(session.id)}><PanelRight size={16} /></Button>}
    </header>
  );
}

/** The sessions that this one came from and was handed over to. */
function Links() {
  const { nameOf } = useNames();
  const { session } = useShown();
  const from = useSession(session.forked_from ?? null);
  const to = useSession(session.handed_to ?? null);
  if (!from && !to) return null;
  return (
    <p className="links-strip small dim">
      {from && <span className="cut">{from.handed_to === session.id ? "Continues" : "Forked from"} <Link to={sessionPath(from.id)}>{safeName(from.title) || "New session"}</Link> ({nameOf(from)})</span>}
      {to && <span className="cut">Handed over to {nameOf(to)}: <Link to={sessionPath(to.id)}>{safeName(to.title) || "New session"}</Link></span>}
    </p>
  );
}

/** The plan stays in sight while it is carried out. */
function PlanStrip() {
  const { conversation } = useShown();
  const { plan, runningTurn } = conversation;
  const done = plan.filter((e) => e.status === "completed").length;
  const now = plan.find((e) => e.status === "in_progress");
  if (!runningTurn || plan.length === 0 || done === plan.length) return null;
  return (
    <details className="plan-strip">
      <summary><span className="tag">{done} of {plan.length}</span> <span className="cut">{now ? safeName(now.text) : "Plan"}</span></summary>
      <PlanList entries={plan} />
    </details>
  );
}
