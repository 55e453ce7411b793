import { Play } from "lucide-react";
import { useState } from "react";
import { plural } from "../lib/format";
import { go, workPath } from "../lib/router";
import { attempt } from "../lib/toast";
import { FolderPicker, useFolder } from "../shell/FolderPicker";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { startWorkflow, useWorkflows } from "./api";
import { Lines, Pending } from "./parts";

const example = `name: notes
steps:
  - id: look
    prompt: List the files that matter for {{input}}.
  - id: write
    prompt: "Write NOTES.md about this: {{look}}"
    check: test -s NOTES.md
    on_failure: ask
`;

export function Workflows() {
  const { data, error, isPending } = useWorkflows();
  const [starting, setStarting] = useState(false);
  const runs = data?.items ?? [];
  return (
    <>
      <div className="row wrap">
        <h1 className="grow">Workflows</h1>
        <Button {...(runs.length === 0 ? { look: "primary" } : {})} onClick={() => setStarting(true)}><Play size={14} /> Run a workflow</Button>
      </div>
      <Pending error={error} isPending={isPending} />
      {data && runs.length === 0 && (
        <div className="empty">
          <strong>No runs yet</strong>
          <span>A workflow is a file of steps. Each step is a prompt to an agent, and may end with a command that checks the work. A run survives a restart and goes on in the step it was in.</span>
          <pre className="example" tabIndex={0} role="group" aria-label="An example">{example}</pre>
        </div>
      )}
      {runs.length > 0 && (
        <Lines page="workflows" label="Runs" lines={runs.map((r) => ({
          id: r.id, name: r.name, cwd: r.cwd, state: r.state, at: r.created_at,
          fact: <span className="dim">{r.steps.filter((s) => s.state === "completed" || s.state === "skipped").length} of {plural(r.steps.length, "step")}</span>,
        }))} />
      )}
      {starting && <StartDialog onClose={() => setStarting(false)} />}
    </>
  );
}

function StartDialog({ onClose }: { onClose: () => void }) {
  const [file, setFile] = useState(example);
  const [input, setInput] = useState("");
  const [cwd, setCwd] = useFolder();
  const [busy, setBusy] = useState(false);
  const start = async () => {
    setBusy(true);
    const run = await attempt("The workflow did not start", () => startWorkflow({ workflow: file, cwd, ...(input.trim() ? { input: input.trim() } : {}) }));
    setBusy(false);
    if (!run) return;
    onClose();
    go(workPath("workflows", run.id));
  };
  return (
    <Dialog title="Run a workflow" description="Steps, a folder and an input" onClose={onClose} foot={
      <>
        <span className="grow small faint">Agents edit files without asking, and checks are commands that run here.</span>
        <Button look="quiet" onClick={onClose}>Cancel</Button>
        <button type="submit" form="start-workflow" className="button primary" disabled={!file.trim() || !cwd || busy}>Run</button>
      </>
    }>
      <form id="start-workflow" className="column form" onSubmit={(e) => { e.preventDefault(); void start(); }}>
        <label className="field"><span>Steps (YAML)</span>
          <textarea className="input mono" rows={10} spellCheck={false} value={file} onChange={(e) => setFile(e.target.value)} />
        </label>
        <label className="field"><span>Input</span><input className="input" placeholder="What {{input}} stands for (optional)" value={input} onChange={(e) => setInput(e.target.value)} /></label>
        <FolderPicker cwd={cwd} onCwd={setCwd} />
      </form>
    </Dialog>
  );
}
