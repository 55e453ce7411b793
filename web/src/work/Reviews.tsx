import { SearchCheck } from "lucide-react";
import { useState } from "react";
import type { ReviewReport } from "../api/types";
import { plural } from "../lib/format";
import { go, workPath } from "../lib/router";
import { attempt, say } from "../lib/toast";
import { FolderPicker, useFolder } from "../shell/FolderPicker";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { startReview, useReviews } from "./api";
import { AgentList, Lines, Pending } from "./parts";

export const templates: Record<string, { name: string; what: string; input?: string }> = {
  code: { name: "Code", what: "Bugs, missing cases, unclear code." },
  security: { name: "Security", what: "Holes that the change opens." },
  tasks: { name: "Tasks", what: "Whether the change does what was asked.", input: "What was asked" },
  plan: { name: "Plan", what: "Whether a plan holds.", input: "The plan" },
};

const verdictNames: Record<string, string> = { PASS: "Pass", CONCERNS: "Concerns", FAIL: "Fail" };

export function Verdict({ of }: { of: string | undefined }) {
  return of ? <span className={`verdict ${of.toLowerCase()}`}>{verdictNames[of] ?? of}</span> : null;
}

const factOf = (r: ReviewReport) => (
  <>
    {r.state === "completed" && <span className="dim">{plural(r.findings.length, "finding")}</span>}
    <Verdict of={r.verdict} />
  </>
);

export function Reviews() {
  const { data, error, isPending } = useReviews();
  const [starting, setStarting] = useState(false);
  const list = data?.items ?? [];
  return (
    <>
      <div className="row wrap">
        <h1 className="grow">Reviews</h1>
        <Button {...(list.length === 0 ? { look: "primary" } : {})} onClick={() => setStarting(true)}><SearchCheck size={14} /> Start a review</Button>
      </div>
      <Pending error={error} isPending={isPending} />
      {data && list.length === 0 && (
        <div className="empty">
          <strong>No reviews yet</strong>
          <span>Agents read a change and come to a verdict: pass, concerns or fail. What they find stands on the diff, and one key hands it to a session to be fixed. Several agents review the same change on their own; what they found is then merged.</span>
        </div>
      )}
      {list.length > 0 && <Lines page="reviews" label="Reviews" lines={list.map((r) => ({ id: r.id, name: `${templates[r.template]?.name ?? r.template} review`, cwd: r.cwd, state: r.state, at: r.created_at, fact: factOf(r) }))} />}
      {starting && <StartDialog onClose={() => setStarting(false)} />}
    </>
  );
}

function StartDialog({ onClose }: { onClose: () => void }) {
  const [cwd, setCwd] = useFolder();
  const [template, setTemplate] = useState("code");
  const [diff, setDiff] = useState("");
  const [input, setInput] = useState("");
  const [agents, setAgents] = useState([""]);
  const [busy, setBusy] = useState(false);
  const asks = templates[template]?.input;
  const start = async () => {
    setBusy(true);
    const chosen = agents.filter(Boolean);
    const made = await attempt("The review did not start", () => startReview({
      cwd, template, ...(diff.trim() ? { diff: diff.trim() } : {}), ...(asks && input.trim() ? { input: input.trim() } : {}), ...(chosen.length > 0 ? { agents: chosen } : {}),
    }));
    setBusy(false);
    if (!made) return;
    onClose();
    if (made.empty) say("There is nothing to review", "Nothing has changed since that commit.");
    else go(workPath("reviews", made.id));
  };
  return (
    <Dialog title="Start a review" description="What to review, and by whom" onClose={onClose} foot={
      <>
        <span className="grow small faint">Reviewers only read.</span>
        <Button look="quiet" onClick={onClose}>Cancel</Button>
        <button type="submit" form="start-review" className="button primary" disabled={!cwd || busy}>Start</button>
      </>
    }>
      <form id="start-review" className="column form" onSubmit={(e) => { e.preventDefault(); void start(); }}>
        <FolderPicker cwd={cwd} onCwd={setCwd} />
        <div className="form-grid">
          <label className="field"><span>Look at</span>
            <select className="input" value={template} onChange={(e) => setTemplate(e.target.value)}>{Object.entries(templates).map(([id, t]) => <option key={id} value={id}>{t.name}</option>)}</select>
          </label>
          <label className="field"><span>Compare with</span><input className="input mono" placeholder="What is not committed" value={diff} onChange={(e) => setDiff(e.target.value)} /></label>
        </div>
        <p className="small dim">{templates[template]?.what} Compare with a commit or branch, such as <span className="mono">main</span>, or leave it empty.</p>
        {asks && <label className="field"><span>{asks}</span><textarea className="input" rows={4} value={input} onChange={(e) => setInput(e.target.value)} /></label>}
        <AgentList label="Reviewers" chosen={agents} least={1} onChange={setAgents} />
      </form>
    </Dialog>
  );
}
