import { lazy, useState } from "react";
import { useNames } from "../api/names";
import { useUsage } from "../api/queries";
import type { UsageRow } from "../api/types";
import { dollars, percent, tokens, totalTokens } from "../lib/format";
import { safeName } from "../lib/safe";
import { modelName } from "../lib/words";
import { Lazy, Skeleton } from "../ui/Lazy";

const Chart = lazy(() => import("./Chart"));

const groups = [
  { id: "day", name: "Day" },
  { id: "agent", name: "Agent" },
  { id: "model", name: "Model" },
  { id: "cwd", name: "Project" },
];

export default function Usage() {
  const days = useUsage("day");
  const [group, setGroup] = useState("agent");
  const total = sum(days.data?.items ?? []);
  return (
    <div className="page-inner">
      <h1>Usage</h1>
      {days.isPending && <Skeleton lines={6} />}
      {days.error && <p role="alert">{days.error.message}</p>}
      {days.data && days.data.items.length === 0 && <div className="empty"><strong>Nothing used yet</strong><span>Tokens and money appear here after the first turn.</span></div>}
      {days.data && days.data.items.length > 0 && (
        <>
          <dl className="figures">
            <div><dt>Cost</dt><dd>{dollars(total.cost)}</dd></div>
            <div><dt>Tokens</dt><dd>{tokens(total.tokens)}</dd></div>
            <div><dt>Turns</dt><dd>{total.turns}</dd></div>
          </dl>
          <section className="card column chart-card">
            <h2>Tokens and cost by day</h2>
            <Lazy lines={6}><Chart rows={days.data.items} /></Lazy>
          </section>
          <section className="column">
            <div className="row wrap">
              <h2 className="grow">By {groups.find((g) => g.id === group)!.name.toLowerCase()}</h2>
              <div className="segmented" role="group" aria-label="Group by">
                {groups.map((g) => <button key={g.id} type="button" className="tab" aria-pressed={g.id === group} data-state={g.id === group ? "active" : ""} onClick={() => setGroup(g.id)}>{g.name}</button>)}
              </div>
            </div>
            <Table group={group} />
          </section>
        </>
      )}
    </div>
  );
}

const sum = (rows: UsageRow[]) =>
  rows.reduce((t, r) => ({ cost: t.cost + r.cost_usd, tokens: t.tokens + totalTokens(r.usage), turns: t.turns + r.turns }), { cost: 0, tokens: 0, turns: 0 });

function Table({ group }: { group: string }) {
  const { agentName } = useNames();
  const { data, error } = useUsage(group);
  if (error) return <p role="alert">{error.message}</p>;
  if (!data) return <Skeleton lines={4} />;
  const rows = group === "day" ? [...data.items].sort((a, b) => (a.key < b.key ? 1 : -1)) : [...data.items].sort((a, b) => b.cost_usd - a.cost_usd || totalTokens(b.usage) - totalTokens(a.usage));
  const all = Math.max(1, rows.reduce((sum, r) => sum + totalTokens(r.usage), 0));
  const share = (r: UsageRow) => totalTokens(r.usage) / all;
  return (
    <div className="table-scroll" tabIndex={0} role="group" aria-label="Usage table">
      <table className="table">
        <thead><tr><th>{groups.find((g) => g.id === group)!.name}</th><th>Share</th><th className="number">Tokens</th><th className="number">Cost</th><th className="number">Turns</th></tr></thead>
        <tbody>
          {rows.map((r) => (
            <tr key={r.key}>
              <td className={group === "cwd" ? "mono" : ""}>{safeName(group === "agent" ? agentName(r.key) : group === "model" ? modelName(r.key) : r.key) || "unknown"}</td>
              <td><span className="share"><meter min={0} max={1} value={share(r)} aria-label="Share of all tokens" /> {percent(share(r))}</span></td>
              <td className="number">{tokens(totalTokens(r.usage))}</td>
              <td className="number">{dollars(r.cost_usd)}</td>
              <td className="number">{r.turns}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
