import { ArrowRightLeft, Download, FileText, GitFork, MoreHorizontal, PanelRight, Pencil, Power, Redo2, Server, SquareTerminal, Trash2, Undo2 } from "lucide-react";
import { useEffect } from "react";
import { useNames } from "../api/names";
import { useCan, useFork, useOwner, useOtherNodes, useSession } from "../api/queries";
import { Composer } from "../composer/Composer";
import { useShown } from "../conversation/context";
import { ConversationView } from "../conversation/ConversationView";
import { baseName } from "../lib/format";
import { usePhone } from "../lib/media";
import { go as open, sessionPath } from "../lib/router";
import { attempt } from "../lib/toast";
import { isWorking } from "../model/lists";
import { watchedAgent } from "../lib/words";
import { createSession } from "../api/actions";
import { safeLink, safeName } from "../lib/safe";
import { useSettings, useView } from "../lib/state";
import { dotOf } from "../model/lists";
import { checksOf, distance, useBranch, usePullRequest } from "../panes/branch";
import { PlanList } from "../panes/PlanPane";
import { toggleTerminal, TerminalDock } from "../terminal/Dock";
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
  const watched = watchedAgent(session.agent);
  return (
    <main className="pane" aria-label={`Session ${session.title || "new"}`}>
      <Header />
      <Links />
      <TrustStrip cwd={session.cwd} />
      <PlanStrip />
      {items === 0 && watched ? <p className="empty dim">Nothing has been said in the terminal yet.</p> : items === 0 ? <Starters agent={session.agent} model={session.model || conversation.info.model} session={session.id} /> : <ConversationView />}
      {watched ? <Watched agent={watched} /> : <Composer key={session.id} />}
      <TerminalDock key={`terminal ${session.id}`} session={session} />
    </main>
  );
}

/** Stands where the composer is, in a session that runs in a terminal of its own. Only Claude Code's hooks race its dialog. */
function Watched({ agent }: { agent: string }) {
  const { agentName } = useNames();
  const { session, conversation } = useShown();
  const busy = isWorking(conversation.state);
  const go = () => void attempt("Continuing did not work", async () => {
    const { id } = await createSession({ agent, cwd: session.cwd, native_id: session.native_id ?? undefined, title: session.title });
    open(sessionPath(id));
  });
  return (
    <div className="watched small dim">
      <span className="grow">This is {agentName(agent)} in a terminal of its own. {agent === "claude" ? "Answer its requests here or there; type there." : "Type there, and answer its requests there."}</span>
      {session.native_id && <Button disabled={busy} title={busy ? "It is still working in the terminal" : "A new session here, with what the agent remembers of this one"} onClick={go}>Continue here</Button>}
    </div>
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
  const admin = useOwner();
  const shell = useSettings((s) => s.terminalOf === session.id);
  return (
    <header className="bar">
      <span className={`dot ${dotOf({ ...session, state: conversation.state === "pending" ? session.state : conversation.state })}`} aria-hidden="true" />
      <h1 className="title cut grow" title={safeName(session.title)}>{safeName(session.title) || "New session"}</h1>
      {!phone && <span className="faint small cut shrink">{safeName(baseName(session.cwd))} <Where /> · {nameOf(session)}</span>}
      <Menu
        trigger={<Button look="quiet" label="Session actions"><MoreHorizontal size={16} /></Button>}
        entries={[
          phone && admin && { label: "Terminal", icon: <SquareTerminal size={14} />, onSelect: () => toggleTerminal(session.id) },
          { label: "Rename…", icon: <Pencil size={14} />, onSelect: () => useView.setState({ overlay: "rename" }) },
          can("undo") && { label: "Undo last turn", icon: <Undo2 size={14} />, keys: "Alt U", disabled: !session.revert?.can_undo, onSelect: actions.undo },
          can("redo") && { label: "Redo", icon: <Redo2 size={14} />, disabled: !session.revert?.can_redo, onSelect: actions.redo },
          fork.whole && { label: "Fork", icon: <GitFork size={14} />, onSelect: () => actions.fork() },
          items > 0 && { label: "Hand over…", icon: <ArrowRightLeft size={14} />, onSelect: () => useView.setState({ overlay: "handoff" }) },
          movable && { label: "Move to another node…", icon: <Server size={14} />, onSelect: () => useView.setState({ overlay: "move" }) },
          { label: "Export as HTML", icon: <FileText size={14} />, onSelect: actions.exportHtml },
          { label: "Export as JSON", icon: <Download size={14} />, onSelect: actions.export },
          { label: "Stop agent process", icon: <Power size={14} />, onSelect: actions.close },
          null,
          { label: "Delete…", icon: <Trash2 size={14} />, danger: true, onSelect: () => useView.setState({ overlay: "delete" }) },
        ]}
      />
      {!phone && admin && <Button look="quiet" label={shell ? "Hide the terminal (Ctrl-`)" : "Open a terminal (Ctrl-`)"} aria-expanded={shell} onClick={() => toggleTerminal(session.id)}><SquareTerminal size={16} /></Button>}
      {!phone && <Button look="quiet" label={right ? "Hide the side pane (Alt-])" : "Show changes, files and details (Alt-])"} aria-expanded={right} onClick={() => toggleRight(session.id)}><PanelRight size={16} /></Button>}
    </header>
  );
}

/** The branch of the session's folder, how far it is from its remote or base, and its pull request. */
function Where() {
  const { session } = useShown();
  const branch = useBranch(session.id);
  const pull = usePullRequest(session.id, branch);
  if (!branch || branch.problem) return null;
  const link = safeLink(pull?.url);
  return (
    <>
      <span className="branch" title={branch.worktree ? `A worktree of ${safeName(branch.origin ?? "")}` : "Works in the folder itself"}>⎇ {safeName(branch.branch || "no branch")}{" "}{distance(branch)}</span>
      {pull && link && <> <a href={link} target="_blank" rel="noreferrer noopener">PR #{pull.number} {checksOf(pull)}</a></>}
    </>
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
