import { Command } from "cmdk";
import { Dialog } from "radix-ui";
import { useDeferredValue, useMemo, useState } from "react";
import { useCan, useFork, useFoundMessages, useFoundSessions, useOtherNodes, useRequests, useSessions } from "../api/queries";
import type { Session } from "../api/types";
import { baseName } from "../lib/format";
import { go, sessionPath } from "../lib/router";
import { safeName } from "../lib/safe";
import { applyTheme, type RightTab, useSettings, useView } from "../lib/state";
import { isWorking } from "../model/lists";
import { gist } from "../requests/words";
import { Around, showMessage } from "./Messages";
import { toggleTerminal } from "../terminal/Dock";
import { turnOnNotifications } from "./notifications";
import { showRight } from "./rightPane";
import { useSessionActions } from "./sessionActions";

interface Action { name: string; keys?: string; run: () => unknown }

/** Every action and every session, by a few letters. */
export default function Palette({ session, onClose }: { session: Session | undefined; onClose: () => void }) {
  const [words, setWords] = useState("");
  const sought = useDeferredValue(words.trim());
  const found = useFoundSessions(sought);
  const messages = useFoundMessages(sought, 8);
  const known = useSessions().data?.items ?? [];
  // What the server finds stands beside what is here already, so that nothing waits for it.
  const sessions = useMemo(() => [...new Map([...known.slice(0, words ? undefined : 50), ...(words ? found : [])].map((s) => [s.id, s])).values()], [known, found, words]);
  const requests = useRequests().data?.items ?? [];
  const run = (action: () => unknown) => () => {
    onClose();
    void action();
  };
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="veil" />
        <Dialog.Content className="dialog palette" aria-describedby={undefined}>
          <Dialog.Title className="visually-hidden">Commands</Dialog.Title>
          <Command label="Commands" loop>
            <Command.Input className="palette-input" placeholder="Type a command, a session or words of a message" value={words} onValueChange={setWords} />
            <Command.List className="palette-list">
              <Command.Empty className="empty">No matches</Command.Empty>
              {requests.length > 0 && (
                <Command.Group heading="Needs you">
                  {requests.map((r) => <Command.Item key={r.request_id} value={`needs ${r.request_id} ${gist(r)}`} onSelect={run(() => go(sessionPath(r.session)))}><span className="dot needs" /> <span className="cut">{gist(r)}</span></Command.Item>)}
                </Command.Group>
              )}
              {session && <SessionActions session={session} run={run} />}
              <Command.Group heading="Go">
                {general.map((a) => <Command.Item key={a.name} onSelect={run(a.run)}><span className="grow">{a.name}</span>{a.keys && <kbd className="key">{a.keys}</kbd>}</Command.Item>)}
              </Command.Group>
              <Command.Group heading="Sessions">
                {sessions.map((s) => (
                  <Command.Item key={s.id} value={`${s.title} ${s.cwd} ${s.agent} ${s.id}`} onSelect={run(() => go(sessionPath(s.id)))}>
                    <span className="cut grow">{safeName(s.title) || "New session"}</span> <span className="faint small">{baseName(s.cwd)}</span>
                  </Command.Item>
                ))}
              </Command.Group>
              {messages.length > 0 && (
                <Command.Group heading="Messages">
                  {messages.map((f) => (
                    // The server has matched the words, which need not stand in the part that is shown.
                    <Command.Item key={`${f.session}-${f.seq}`} value={`message ${f.session} ${f.seq} ${words}`} onSelect={run(() => showMessage(f))}>
                      <span className="hit-item"><Around found={f} words={sought} /><span className="faint small cut">{safeName(f.title) || "New session"}</span></span>
                    </Command.Item>
                  ))}
                </Command.Group>
              )}
            </Command.List>
          </Command>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

const show = (tab: RightTab) => () => {
  useSettings.setState({ tab });
  showRight(true);
  useView.setState({ phone: "side" });
};

const general: Action[] = [
  { name: "New session", keys: "Alt N", run: () => useView.setState({ overlay: "new-session" }) },
  { name: "Team", run: () => go("/team") },
  { name: "Workflows", run: () => go("/workflows") },
  { name: "Reviews", run: () => go("/reviews") },
  { name: "Races", run: () => go("/races") },
  { name: "Usage", run: () => go("/usage") },
  { name: "Agents", run: () => go("/agents") },
  { name: "Sessions from other tools", run: () => go("/discovered") },
  { name: "Rules", run: () => go("/rules") },
  { name: "Personas", run: () => go("/personas") },
  { name: "Settings", run: () => go("/settings") },
  { name: "Set up the server", run: () => go("/setup") },
  { name: "Keyboard shortcuts", keys: "Alt /", run: () => useView.setState({ overlay: "shortcuts" }) },
  { name: "Notify me when something needs me", run: turnOnNotifications },
  { name: "Open files in VS Code", run: () => useSettings.setState({ editor: "vscode://file{path}" }) },
  { name: "Open files in Cursor", run: () => useSettings.setState({ editor: "cursor://file{path}" }) },
  { name: "Open files in Zed", run: () => useSettings.setState({ editor: "zed://file{path}" }) },
  { name: "Theme: System", run: () => applyTheme("system") },
  { name: "Theme: Light", run: () => applyTheme("light") },
  { name: "Theme: Dark", run: () => applyTheme("dark") },
  { name: "Theme: High contrast", run: () => applyTheme("contrast") },
];

function SessionActions({ session, run }: { session: Session; run: (action: () => unknown) => () => void }) {
  const a = useSessionActions(session);
  const can = useCan(session.agent);
  const fork = useFork(session);
  const movable = useOtherNodes(session).length > 0;
  const list: (Action | false | undefined)[] = [
    isWorking(session.state) && { name: "Stop the turn", keys: "Esc", run: a.interrupt },
    isWorking(session.state) && { name: "Kill the agent", run: a.kill },
    can("undo") && session.revert?.can_undo && { name: "Undo the last turn", keys: "Alt U", run: a.undo },
    can("redo") && session.revert?.can_redo && { name: "Redo", keys: "Alt Shift U", run: a.redo },
    { name: "Find in the conversation", keys: "Ctrl F", run: () => useView.setState({ finding: true, drawer: false }) },
    { name: "Terminal", keys: "Ctrl `", run: () => toggleTerminal(session.id) },
    { name: "Review the changes", keys: "Alt C", run: () => useView.setState({ review: true, phone: "chat" }) },
    { name: "Show files", run: show("files") },
    { name: "Show changes", run: show("changes") },
    { name: "Show plan", run: show("plan") },
    { name: "Show timeline", run: show("timeline") },
    { name: "Show details", run: show("details") },
    { name: "Rename session", run: () => useView.setState({ overlay: "rename" }) },
    fork.whole && { name: "Fork session", run: () => a.fork() },
    { name: "Hand over to another agent", run: () => useView.setState({ overlay: "handoff" }) },
    movable && { name: "Move to another node", run: () => useView.setState({ overlay: "move" }) },
    { name: "Export session as HTML", run: a.exportHtml },
    { name: "Export session for Terret", run: a.export },
    { name: "Stop agent process", run: a.close },
    { name: "Delete session", run: () => useView.setState({ overlay: "delete" }) },
  ];
  return (
    <Command.Group heading="This session">
      {list.map((x) => x && <Command.Item key={x.name} onSelect={run(x.run)}><span className="grow">{x.name}</span>{x.keys && <kbd className="key">{x.keys}</kbd>}</Command.Item>)}
    </Command.Group>
  );
}
