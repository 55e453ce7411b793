import { useQueryClient } from "@tanstack/react-query";
import { Trash2 } from "lucide-react";
import { useState } from "react";
import { dryRun, type Explanation, explain, putRules } from "../api/actions";
import { keys } from "../api/keys";
import { useRules } from "../api/queries";
import type { Rule } from "../api/types";
import { ago, plural } from "../lib/format";
import { safeName, safeText } from "../lib/safe";
import { attempt } from "../lib/toast";
import { Button } from "../ui/Button";
import { Skeleton } from "../ui/Lazy";
import { Lately, Suggestions, useRuleDecisions } from "./RuleAdvice";

const looks = { allow: "good", deny: "bad", ask: "ask" };

export default function Rules() {
  const client = useQueryClient();
  const { data, error, isPending } = useRules();
  const rules = data?.items ?? [];
  const advice = useRuleDecisions();
  const save = async (next: (Pick<Rule, "effect" | "pattern"> & { id?: string })[]) => {
    const done = await attempt("The rules were not changed", () => putRules(next.map(({ id, effect, pattern }) => ({ effect, pattern, ...(id ? { id } : {}) }))));
    await client.invalidateQueries({ queryKey: keys.rules });
    return !!done;
  };
  return (
    <div className="page-inner">
      <div className="column">
        <h1>Rules</h1>
        <p className="dim">Rules decide first: deny beats ask, and ask beats allow. Rules come before the mode.</p>
      </div>
      <AddRule onAdd={(rule) => save([...rules, rule])} />
      <TryCommand />
      {advice && <Suggestions list={advice.suggestions} onAdd={(made) => save([...rules, ...made])} />}
      {isPending && <Skeleton lines={4} />}
      {error && <p role="alert">{error.message}</p>}
      {data && rules.length === 0 && (
        <div className="empty"><strong>No rules yet</strong><span>Choose “Always allow…” when an agent asks, or write one above. <span className="mono">Bash(git status *)</span> allows a command, <span className="mono">Edit(docs/**)</span> edits in a folder.</span></div>
      )}
      {rules.length > 0 && (
        <div className="table-scroll" tabIndex={0} role="group" aria-label="Rules">
          <table className="table rules">
            <thead><tr><th>Effect</th><th>Pattern</th><th className="number">Decided</th><th>Made</th><th><span className="visually-hidden">Remove</span></th></tr></thead>
            <tbody>
              {rules.map((r) => (
                <tr key={r.id}>
                  <td><span className={`tag ${looks[r.effect]}`}>{r.effect}</span></td>
                  <td className="mono rule-pattern">{safeName(r.pattern)}</td>
                  <td className="number">{plural(r.hits, "time")}</td>
                  <td className="dim">{safeName(r.made_by)}, {ago(r.made_at)}</td>
                  <td className="number"><Button look="quiet" tiny label={`Remove ${r.pattern}`} onClick={() => save(rules.filter((x) => x.id !== r.id))}><Trash2 size={14} /></Button></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {advice && <Lately list={advice.items} />}
    </div>
  );
}

function AddRule({ onAdd }: { onAdd: (rule: Pick<Rule, "effect" | "pattern">) => Promise<boolean> }) {
  const [effect, setEffect] = useState<Rule["effect"]>("allow");
  const [pattern, setPattern] = useState("");
  const [tried, setTried] = useState("");
  const test = async () => {
    const result = await attempt("The rule could not be tried", () => dryRun({ effect, pattern: pattern.trim() }));
    if (result) setTried(`It would have decided ${result.items.length} of ${plural(result.total, "past request")}. ${result.broad ?? ""}`);
  };
  const add = async () => {
    const rule = { effect, pattern: pattern.trim() };
    if (!await onAdd(rule)) return;
    setPattern("");
    setTried("");
    if (effect !== "allow") return;
    const broad = (await dryRun(rule)).broad;
    if (broad) setTried(`${rule.pattern} is a broad rule: ${broad}`);
  };
  return (
    <form className="card column form" onSubmit={(e) => { e.preventDefault(); void attempt("The rule could not be tried", add); }}>
      <div className="row wrap">
        <select className="input narrow" aria-label="Effect" value={effect} onChange={(e) => { setEffect(e.target.value as Rule["effect"]); setTried(""); }}><option value="allow">Allow</option><option value="deny">Deny</option><option value="ask">Ask</option></select>
        <input className="input mono grow new-pattern" aria-label="Pattern" placeholder="Bash(git status *)" value={pattern} onChange={(e) => { setPattern(e.target.value); setTried(""); }} required />
        {effect !== "ask" && <Button disabled={!pattern.trim()} onClick={test}>Test on history</Button>}
        <button type="submit" className="button primary" disabled={!pattern.trim()}>Add rule</button>
      </div>
      <span className="small dim" aria-live="polite">{safeText(tried)}</span>
    </form>
  );
}

/** Says what would happen to a command, and why. */
function TryCommand() {
  const [command, setCommand] = useState("");
  const [why, setWhy] = useState<Explanation>();
  return (
    <form className="card column form" onSubmit={async (e) => { e.preventDefault(); setWhy(await attempt("The command could not be judged", () => explain({ command: command.trim() }))); }}>
      <div className="row wrap">
        <input className="input mono grow" aria-label="Command" placeholder="git push --force" value={command} onChange={(e) => { setCommand(e.target.value); setWhy(undefined); }} required />
        <button type="submit" className="button" disabled={!command.trim()}>What would happen?</button>
      </div>
      <div aria-live="polite">{why && <Reasons of={why} />}</div>
    </form>
  );
}

function Reasons({ of }: { of: Explanation }) {
  return (
    <ul className="plain column small">
      <li><span className={`tag ${looks[of.decision]}`}>{of.decision}</span> {safeText(of.reasons[0] ?? "")}</li>
      {of.reasons.slice(1).map((why) => <li key={why} className="dim">{safeText(why)}</li>)}
    </ul>
  );
}
