import { useId, useState } from "react";
import type { Request } from "../api/types";
import { Markdown } from "../conversation/Markdown";
import { Button } from "../ui/Button";
import { FormFoot } from "./PermissionCard";
import { useDecide } from "./useDecide";

const modes = [
  { value: "", label: "Ask" },
  { value: "acceptEdits", label: "Auto-edit" },
];

/** A plan: approved with the mode to go on in, or sent back with a comment. */
export function PlanCard({ request }: { request: Request }) {
  const { sending, answer } = useDecide(request);
  const [mode, setMode] = useState("");
  const [back, setBack] = useState(false);
  const [comment, setComment] = useState("");
  const id = useId();
  return (
    <>
      <div className="plan-text" tabIndex={0} role="group" aria-label="Plan"><Markdown text={request.data.plan ?? ""} /></div>
      {back ? (
        <form className="answer-form" onSubmit={(e) => { e.preventDefault(); void answer({ behavior: "revise", reason: comment.trim() }); }}>
          <label htmlFor={id}>What should be different?</label>
          <textarea id={id} className="input" rows={3} value={comment} onChange={(e) => setComment(e.target.value)} autoFocus />
          <FormFoot label="Request changes" onBack={() => setBack(false)} disabled={sending || !comment.trim()} />
        </form>
      ) : (
        <div className="answers">
          <Button look="primary" data-key="Enter" disabled={sending} onClick={() => answer({ behavior: "approve", ...(mode ? { next_mode: mode } : {}) })}>
            Approve <kbd>⏎</kbd>
          </Button>
          <label className="row small dim" htmlFor={id}>
            then
            <select id={id} className="input narrow" value={mode} onChange={(e) => setMode(e.target.value)}>
              {modes.map((m) => <option key={m.value} value={m.value}>{m.label}</option>)}
            </select>
          </label>
          <span className="gap" />
          <Button data-key="d" disabled={sending} onClick={() => setBack(true)}>Request changes… <kbd>d</kbd></Button>
        </div>
      )}
    </>
  );
}
