import { useQueryClient } from "@tanstack/react-query";
import { Check, Circle, LoaderCircle, SkipForward, X } from "lucide-react";
import { keys } from "../api/keys";
import { useNames } from "../api/names";
import type { StepRun } from "../api/types";
import { Markdown } from "../conversation/Markdown";
import { baseName, dollars, plural } from "../lib/format";
import { safeName, safeText } from "../lib/safe";
import { attempt } from "../lib/toast";
import { Button } from "../ui/Button";
import { resumeWorkflow, useWorkflow } from "./api";
import { Pending, SessionLink, State, stateName, Title } from "./parts";

/** One run, with its steps as progress. */
export function WorkflowPage({ id }: { id: string }) {
  const client = useQueryClient();
  const { data: run, error, isPending } = useWorkflow(id);
  const resume = async (decision?: "retry" | "skip" | "stop") => {
    await attempt("The run did not continue", () => resumeWorkflow(id, decision));
    await client.invalidateQueries({ queryKey: keys.work });
  };
  if (!run) return <Pending error={error} isPending={isPending} />;
  const done = run.steps.filter((s) => s.state === "completed" || s.state === "skipped").length;
  return (
    <>
      <Title page="workflows" list="Workflows" name={run.name}><State state={run.state} /></Title>
      <div className="row wrap small dim">
        <span>{safeName(baseName(run.cwd))}</span>
        <span>{done} of {plural(run.steps.length, "step")}</span>
        {run.cost_usd > 0 && <span>{dollars(run.cost_usd)}</span>}
        {run.input && <span className="cut">Input: {safeName(run.input)}</span>}
      </div>
      <progress className="progress" max={run.steps.length} value={done} aria-label="Steps done" />
      {run.detail && run.state !== "waiting" && <p className={run.state === "failed" ? "tool-error" : "dim"}>{safeText(run.detail)}</p>}
      {run.state === "interrupted" && (
        <div className="notice boxed" role="status">
          <strong>Nobody works on this run</strong>
          <span>It was interrupted. It goes on in the step it was in.</span>
          <span><Button tiny look="primary" onClick={() => resume()}>Resume</Button></span>
        </div>
      )}
      {run.state === "waiting" && (
        <div className="notice boxed" role="status">
          <strong>A step failed. What now?</strong>
          <span className="pre">{safeText(run.detail ?? "")}</span>
          <span className="row wrap">
            <Button tiny look="primary" onClick={() => resume("retry")}>Try again</Button>
            <Button tiny onClick={() => resume("skip")}>Skip this step</Button>
            <Button tiny look="danger" onClick={() => resume("stop")}>Stop the run</Button>
          </span>
        </div>
      )}
      <ol className="plain steps" aria-label="Steps">
        {run.steps.map((s) => <Step key={s.id} step={s} cut={run.state === "interrupted"} />)}
      </ol>
    </>
  );
}

const icons: Record<string, typeof Check> = { completed: Check, skipped: SkipForward, failed: X, running: LoaderCircle };

function Step({ step: s, cut }: { step: StepRun; cut: boolean }) {
  const { agentName } = useNames();
  const live = s.state === "running" && !cut;
  const Icon = icons[s.state] ?? Circle;
  return (
    <li className={`step ${s.state}`} data-step={s.id}>
      <span className="step-mark" aria-hidden="true"><Icon size={15} className={live ? "spin" : ""} /></span>
      <div className="column">
        <div className="row wrap">
          <strong>{safeName(s.id)}</strong>
          {s.agent && <span className="dim small">{agentName(s.agent)}</span>}
          <span className="small dim">{s.state === "running" && cut ? "Interrupted" : stateName(s.state)}</span>
          {s.attempts > 1 && <span className="small dim">attempt {s.attempts}</span>}
          {s.cost_usd > 0 && <span className="small dim">{dollars(s.cost_usd)}</span>}
          <span className="grow" />
          <SessionLink session={s.session} live={live} />
        </div>
        {s.error && <pre className="step-text tool-error" tabIndex={0} role="group" aria-label={`Error of ${safeName(s.id)}`}>{safeText(s.error)}</pre>}
        {s.output && <div className="step-text" tabIndex={0} role="group" aria-label={`Answer of ${safeName(s.id)}`}><Markdown text={s.output} /></div>}
      </div>
    </li>
  );
}
