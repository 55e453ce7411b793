// What decided lately, and rules that repeated answers suggest.

import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { create } from "zustand";
import { persist } from "zustand/middleware";
import { call } from "../api/http";
import { keys } from "../api/keys";
import { useMe } from "../api/queries";
import type { Decision, Rule } from "../api/types";
import { ago } from "../lib/format";
import { sessionPath } from "../lib/router";
import { safeName } from "../lib/safe";
import { reasonOf, verdict } from "../requests/words";
import { Button } from "../ui/Button";
import { Link } from "../ui/Link";

interface Decided { request_id: string; session: string; at: string; tool: string; title: string; decision: Decision }
interface Suggestion { patterns: string[]; count: number; last: string; title: string }

export const useRuleDecisions = () =>
  useQuery({
    queryKey: [...keys.rules, "decisions"], retry: false,
    queryFn: ({ signal }) => call<{ items: Decided[]; suggestions: Suggestion[] }>("/v1/rules/decisions", { signal }),
  }).data;

/** Suggestions that a person does not want. */
const useDeclined = create<{ list: string[] }>()(persist((): { list: string[] } => ({ list: [] }), { name: "terret.declined", version: 1 }));

/** Rules for what a person allowed again and again, each a click away. */
export function Suggestions({ list, onAdd }: { list: readonly Suggestion[]; onAdd: (rules: Pick<Rule, "effect" | "pattern">[]) => Promise<boolean> }) {
  const declined = useDeclined((s) => s.list);
  const open = useMemo(() => list.filter((s) => !declined.includes(s.patterns.join("\n"))), [list, declined]);
  if (open.length === 0) return null;
  return (
    <section className="column" aria-label="Suggested rules">
      <h2>Suggested</h2>
      <ul className="plain card advice">
        {open.map((s) => (
          <li key={s.patterns.join("\n")} className="row wrap">
            <span className="grow">
              You allowed {s.patterns.map((p, i) => <span key={p}>{i > 0 && " and "}<code>{safeName(p)}</code></span>)} {s.count} times by hand.
            </span>
            <Button look="primary" aria-label={`Always allow ${s.patterns.join(" and ")}`} onClick={() => onAdd(s.patterns.map((pattern) => ({ effect: "allow", pattern })))}>Make it a rule</Button>
            <Button look="quiet" aria-label={`No rule for ${s.patterns.join(" and ")}`} onClick={() => useDeclined.setState(({ list: l }) => ({ list: [...l, s.patterns.join("\n")].slice(-200) }))}>No, thanks</Button>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The newest decisions: what was asked, and what decided it. */
export function Lately({ list }: { list: readonly Decided[] }) {
  const me = useMe();
  if (list.length === 0) return null;
  return (
    <section className="column" aria-label="Decided lately">
      <h2>Decided lately</h2>
      <div className="table-scroll" tabIndex={0} role="group" aria-label="Decisions">
        <table className="table">
          <thead><tr><th>What</th><th>Decided by</th><th>Why</th><th className="number">When</th></tr></thead>
          <tbody>
            {list.map((x) => (
              <tr key={x.request_id}>
                <td className="mono advice-what"><Link to={sessionPath(x.session)}>{safeName((x.title || x.tool).replaceAll("`", ""))}</Link></td>
                <td>{verdict(x.decision, me)}</td>
                <td className="dim">{reasonOf(x.decision)}</td>
                <td className="number dim">{ago(x.at)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
