import { Dialog } from "../ui/Dialog";

const groups: { title: string; keys: [string, string][] }[] = [
  { title: "Everywhere", keys: [["Ctrl K", "Commands"], ["?", "This sheet"], ["n", "New session"], ["j / k", "Next, previous session"], ["g n", "What needs you"], ["[ ]", "Hide or show the panes"]] },
  { title: "Requests", keys: [["Enter", "Allow once, approve"], ["s", "Allow for the session"], ["a", "Always: make a rule"], ["e", "Edit the input"], ["d", "Deny, send back"], ["Shift D", "Deny and stop"], ["1 – 9", "Choose an answer"]] },
  { title: "Session", keys: [["m", "Write a message"], ["Esc", "Stop the turn"], ["Esc held", "Kill the agent"], ["u", "Undo the last turn"], ["Ctrl F", "Find in the conversation"]] },
  { title: "Message", keys: [["Enter", "Send"], ["Shift Enter", "New line"], ["Alt Enter", "Queue"], ["↑", "Earlier messages"], ["/  @", "Commands, files"], ["Esc", "Leave the field"]] },
];

export default function Shortcuts({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard" description="All shortcuts" onClose={onClose}>
      <div className="shortcuts">
        {groups.map((g) => (
          <section key={g.title}>
            <h3>{g.title}</h3>
            <dl>{g.keys.map(([k, what]) => <div key={k}><dt>{k.split(" ").map((p, i) => (/^[/–]$/.test(p) ? <span key={i}> {p} </span> : p === "held" ? <span key={i}> held</span> : p ? <kbd key={i} className="key">{p}</kbd> : null))}</dt><dd>{what}</dd></div>)}</dl>
          </section>
        ))}
      </div>
      <p className="small faint">Single keys act only outside text fields.</p>
    </Dialog>
  );
}
