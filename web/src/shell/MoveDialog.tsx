import { useState } from "react";
import { useOtherNodes } from "../api/queries";
import type { Session } from "../api/types";
import { plural } from "../lib/format";
import { safeName } from "../lib/safe";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { useHandOver } from "./useHandOver";

/** Has a session continue on another node of the fleet. */
export default function MoveDialog({ session, onClose }: { session: Session; onClose: () => void }) {
  const { busy, run } = useHandOver(session, onClose);
  const nodes = useOtherNodes(session);
  const [node, setNode] = useState("any");
  const [next, setNext] = useState("");
  const move = () => run("The session was not moved", { node, ...(next.trim() ? { prompt: next.trim() } : { idle: true }) });
  return (
    <Dialog title="Move to another node" description="Continues this session on another machine" onClose={onClose} foot={
      <>
        <Button look="quiet" onClick={onClose}>Cancel</Button>
        <button type="submit" form="move" className="button primary" disabled={busy || nodes.length === 0}>{busy ? "Moving…" : "Move"}</button>
      </>
    }>
      <form id="move" className="column form" onSubmit={(e) => { e.preventDefault(); void move(); }}>
        <p className="small dim">
          A new session on that node continues this one, in a clone with the same commits, branches and changed files. Queued prompts go along; what git ignores stays behind. Only sessions that were started from a git repository, and are idle, can move.
        </p>
        <label className="field"><span>To</span>
          <select className="input" autoFocus value={node} onChange={(e) => setNode(e.target.value)}>
            <option value="any">The node with the fewest sessions</option>
            {nodes.map((n) => <option key={n.worker} value={n.name}>{safeName(n.name)} ({plural(n.sessions, "session")})</option>)}
          </select>
        </label>
        <label className="field"><span>What should it do next?</span>
          <textarea className="input" rows={3} placeholder="Optional. Without it, the session waits for your next prompt." value={next} onChange={(e) => setNext(e.target.value)} />
        </label>
      </form>
    </Dialog>
  );
}
