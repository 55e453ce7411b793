import { Circle, CircleCheck, CircleDot } from "lucide-react";
import { useShown } from "../conversation/context";
import { safeText } from "../lib/safe";
import type { PlanEntry } from "../api/types";

export function PlanList({ entries }: { entries: readonly PlanEntry[] }) {
  return (
    <ol className="plan">
      {entries.map((e, i) => (
        <li key={i} className={e.status}>
          {e.status === "completed" ? <CircleCheck size={15} aria-label="done" /> : e.status === "in_progress" ? <CircleDot size={15} aria-label="now" /> : <Circle size={15} aria-label="open" />}
          <span>{safeText(e.text)}</span>
        </li>
      ))}
    </ol>
  );
}

export function PlanPane() {
  const { plan } = useShown().conversation;
  if (plan.length === 0) {
    return <div className="empty"><strong>No plan yet</strong><span>When the agent keeps a list of things to do, it fills here as they get done.</span></div>;
  }
  const done = plan.filter((e) => e.status === "completed").length;
  return (
    <div className="pane-pad">
      <progress value={done} max={plan.length} aria-label={`${done} of ${plan.length} done`} />
      <PlanList entries={plan} />
    </div>
  );
}
