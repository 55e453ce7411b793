import type { Request } from "../api/types";
import { Markdown } from "../conversation/Markdown";
import { Button } from "../ui/Button";
import { useDecide } from "./useDecide";

/** A gate that a hook of the agent keeps: let it pass, or hold it back. */
export function HookCard({ request }: { request: Request }) {
  const { sending, answer } = useDecide(request);
  const stop = request.gate === "stop" || request.gate === "subagent_stop";
  return (
    <>
      {request.data.last_message && <div className="plan-text"><Markdown text={request.data.last_message} /></div>}
      <div className="answers">
        <Button look="primary" data-key="Enter" disabled={sending} onClick={() => answer({ behavior: "allow" })}>
          {stop ? "Let it stop" : "Let it pass"} <kbd>⏎</kbd>
        </Button>
        <Button look="danger" data-key="d" disabled={sending} onClick={() => answer({ behavior: "block" })}>
          {stop ? "Tell it to go on" : "Block"} <kbd>d</kbd>
        </Button>
      </div>
    </>
  );
}
