import { useMe, useRules } from "../api/queries";
import type { Decision, Rule } from "../api/types";
import { since } from "../lib/format";
import { safeName } from "../lib/safe";
import { policies } from "../lib/words";
import { reasonOf, verdict } from "../requests/words";
import { Link } from "../ui/Link";
import { useShown } from "./context";

/** What decided about a tool use, why, and since when. */
export function Why({ decision: d }: { decision: Decision }) {
  const { session } = useShown();
  const me = useMe();
  const rules = useRules(session.id, d.source === "rule").data?.items;
  if (d.behavior === "passthrough" || d.behavior === "ask") return null;
  const rule = rules?.find((r) => r.pattern === d.rule);
  const reason = reasonOf(d);
  const told = d.source === "policy" && reason.startsWith("The mode "); // the reason says who, too
  return (
    <p className="why">
      {!told && sentence(d, me, session.policy)}
      {reason && <span className="dim"> {reason}{/[.!?]$/.test(reason) ? "" : "."}</span>}
      {d.source === "rule" && rules && <span className="dim"> {origin(rule, me)}</span>}
      {d.source === "user" && d.rule && <span className="dim"> That made the rule <span className="mono">{safeName(d.rule)}</span>.</span>}
      {d.rule && <> <Link to="/rules">Rules</Link></>}
    </p>
  );
}

function sentence(d: Decision, me: string, policy: string | undefined): string {
  const mode = policies.find((p) => p.id === policy)?.name;
  const words = verdict(d, me);
  return `${d.source === "policy" && mode ? words.replace("The session's mode", `The mode ${mode}`) : words}.`;
}

/** Where a rule comes from. */
export function origin(rule: Rule | undefined, me: string): string {
  if (!rule) return "It came with the session, its persona or the settings, or was removed since.";
  const who = !rule.made_by ? "Somebody" : rule.made_by === me ? "You" : safeName(rule.made_by);
  return `${who} made it ${since(rule.made_at)}${rule.scope === "session" ? ", for this session" : ""}. It has decided ${rule.hits === 1 ? "once" : `${rule.hits} times`}.`;
}
