import { Flag } from "lucide-react";
import { useState } from "react";
import { plural } from "../lib/format";
import { go, workPath } from "../lib/router";
import { attempt } from "../lib/toast";
import { FolderPicker, useFolder } from "../shell/FolderPicker";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { startRace, useRaces } from "./api";
import { AgentList, Lines, Pending } from "./parts";

export function Races() {
  const { data, error, isPending } = useRaces();
  const [starting, setStarting] = useState(false);
  const list = data?.items ?? [];
  return (
    <>
      <div className="row wrap">
        <h1 className="grow">Races</h1>
        <Button {...(list.length === 0 ? { look: "primary" } : {})} onClick={() => setStarting(true)}><Flag size={14} /> Start a race</Button>
      </div>
      <Pending error={error} isPending={isPending} />
      {data && list.length === 0 && (
        <div className="empty">
          <strong>No races yet</strong>
          <span>Give the same task to several agents. Each works in a git worktree of its own, so they do not get in each other’s way. Then compare what they changed, whether the check passes, cost and time; keep one and drop the rest.</span>
        </div>
      )}
      {list.length > 0 && <Lines page="races" label="Races" lines={list.map((r) => ({ id: r.id, name: r.task, cwd: r.cwd, state: r.state, at: r.created_at, fact: <span className="dim">{plural(r.racers.length, "agent")}</span> }))} />}
      {starting && <StartDialog onClose={() => setStarting(false)} />}
    </>
  );
}

function StartDialog({ onClose }: { onClose: () => void }) {
  const [cwd, setCwd] = useFolder();
  const [task, setTask] = useState("");
  const [check, setCheck] = useState("");
  const [agents, setAgents] = useState(["", ""]);
  const [busy, setBusy] = useState(false);
  const chosen = agents.filter(Boolean);
  const start = async () => {
    setBusy(true);
    const made = await attempt("The race did not start", () => startRace({ cwd, task: task.trim(), agents: chosen, ...(check.trim() ? { check: check.trim() } : {}) }));
    setBusy(false);
    if (!made) return;
    onClose();
    go(workPath("races", made.id));
  };
  return (
    <Dialog title="Start a race" description="One task for several agents" onClose={onClose} foot={
      <>
        <span className="grow small faint">The folder must be a git repository without uncommitted changes. Agents edit without asking, each in its own copy.</span>
        <Button look="quiet" onClick={onClose}>Cancel</Button>
        <button type="submit" form="start-race" className="button primary" disabled={!cwd || !task.trim() || chosen.length < 2 || busy}>Start</button>
      </>
    }>
      <form id="start-race" className="column form" onSubmit={(e) => { e.preventDefault(); void start(); }}>
        <label className="field"><span>Task</span><textarea className="input" rows={3} autoFocus placeholder="What should the agents do?" value={task} onChange={(e) => setTask(e.target.value)} /></label>
        <AgentList label="Agents" chosen={agents} least={2} onChange={setAgents} />
        <label className="field"><span>Check</span><input className="input mono" placeholder="go test ./... (optional)" value={check} onChange={(e) => setCheck(e.target.value)} /></label>
        <FolderPicker cwd={cwd} onCwd={setCwd} />
      </form>
    </Dialog>
  );
}
