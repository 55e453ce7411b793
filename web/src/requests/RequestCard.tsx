import { Check, CircleHelp, ClipboardList, ShieldQuestion, X } from "lucide-react";
import { memo, useRef } from "react";
import { useNames } from "../api/names";
import { useMe, useSession } from "../api/queries";
import type { Request } from "../api/types";
import { safeText } from "../lib/safe";
import { commandOf } from "../model/summary";
import { Countdown } from "./Countdown";
import { HookCard } from "./HookCard";
import { PermissionCard } from "./PermissionCard";
import { PlanCard } from "./PlanCard";
import { QuestionCard } from "./QuestionCard";
import { useFocus } from "./useFocus";
import { answersOf, gist, heading, headline, verdict } from "./words";

/** A request: the card that answers it while it is open, one line afterwards. */
export const RequestCard = memo(function RequestCard({ request }: { request: Request }) {
  return request.state === "decided" ? <Decided request={request} /> : <Open request={request} />;
});

function Open({ request }: { request: Request }) {
  const { agentName } = useNames();
  const session = useSession(request.session);
  const card = useRef<HTMLDivElement>(null);
  useFocus(card);
  const agent = agentName(session?.agent, session?.model);
  const Icon = request.gate === "question" ? CircleHelp : request.gate === "plan" ? ClipboardList : ShieldQuestion;
  return (
    <div ref={card} tabIndex={-1} className="request" role="group" data-request={request.request_id} aria-label={heading(request, agent)}>
      <div className="request-head">
        <Icon size={16} aria-hidden="true" />
        <h2 className="grow">{commandOf(request.data.input) && request.gate === "permission" ? "Run a command" : headline(request, agent)}</h2>
        {request.expires_at && <Countdown to={request.expires_at} />}
      </div>
      <Body request={request} cwd={session?.cwd ?? ""} />
    </div>
  );
}

function Body({ request, cwd }: { request: Request; cwd: string }) {
  switch (request.gate) {
    case "question":
      return <QuestionCard request={request} />;
    case "plan":
      return <PlanCard request={request} />;
    case "permission":
    case "trust":
      return <PermissionCard request={request} cwd={cwd} />;
    default:
      return <HookCard request={request} />;
  }
}

function Decided({ request }: { request: Request }) {
  const d = request.decision;
  const me = useMe();
  if (!d) return null;
  const yes = d.behavior === "allow" || d.behavior === "approve" || d.behavior === "answer";
  const said = answersOf(d);
  return (
    <div className={`decided${yes ? "" : " no"}`}>
      {yes ? <Check size={14} aria-hidden="true" /> : <X size={14} aria-hidden="true" />}
      <span className="decided-what">{verdict(d, me)}</span>
      <span className="mono cut faint">{said ? safeText(said) : gist(request)}</span>
      {d.reason && d.source !== "user" && <span className="faint cut grow">{safeText(d.reason)}</span>}
      {d.reason && d.source === "user" && <span className="grow cut">“{safeText(d.reason)}”</span>}
    </div>
  );
}
