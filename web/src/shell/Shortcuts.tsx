import { Dialog } from "../ui/Dialog";

const groups: { title: string; keys: [string, string][] }[] = [
  { title: "Everywhere", keys: [["Ctrl K", "Commands"], ["Alt /", "This sheet"], ["Alt N", "New session"], ["Alt J", "Next session"], ["Alt K", "Previous session"], ["Alt G", "What needs you"], ["Alt [", "Session list"], ["Alt ]", "Right pane"]] },
  { title: "Requests", keys: [["Enter", "Allow once, approve"], ["s", "Allow for the session"], ["a", "Always: make a rule"], ["e", "Edit the input"], ["d", "Deny, send back"], ["Shift D", "Deny and stop"], ["1 – 9", "Choose an answer"], ["J", "Next, in a list of many"], ["K", "Previous"], ["Y", "Allow, in a list of many"]] },
  { title: "Session", keys: [["Esc", "Stop the turn"], ["Esc held", "Kill the agent"], ["Alt C", "Review the changes"], ["Alt U", "Undo the last turn"], ["Alt Shift U", "Redo"], ["Ctrl F", "Find in the conversation"], ["Ctrl `", "Terminal"]] },
  { title: "Message", keys: [["Enter", "Send"], ["Shift Enter", "New line"], ["Alt Enter", "Queue"], ["Shift Tab", "Ask, Auto-edit, Plan, Full auto"], ["↑", "Earlier messages"], ["/", "Commands"], ["@", "Files"]] },
];

export default function Shortcuts({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard" description="All shortcuts" onClose={onClose}>
      <div className="shortcuts">
        {groups.map((g) => (
          <section key={g.title}>
            <h3>{g.title}</h3>
            <dl>{g.keys.map(([k, what]) => <div key={k}><dt>{k.split(" ").map((p, i) => (p === "–" ? <span key={i}> {p} </span> : p === "held" ? <span key={i}> held</span> : p ? <kbd key={i} className="key">{p}</kbd> : null))}</dt><dd>{what}</dd></div>)}</dl>
          </section>
        ))}
      </div>
      <p className="small faint">In a session, letters go to the message unless a request has the focus. <a href="/docs/" target="_blank" rel="noreferrer">The guide</a> has more.</p>
    </Dialog>
  );
}
