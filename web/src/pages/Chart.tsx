import { useEffect, useRef } from "react";
import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { UsageRow } from "../api/types";
import { dollarMark, tokens, totalTokens } from "../lib/format";

/** Bars for tokens and a line for money, one for each day. The table below says the same. */
export default function Chart({ rows }: { rows: UsageRow[] }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const el = box.current;
    if (!el) return;
    const colour = (name: string) => getComputedStyle(el).getPropertyValue(name).trim();
    const days = fill(rows);
    const paid = days.some((d) => d.cost > 0);
    const axis = { stroke: colour("--text-dim"), grid: { stroke: colour("--border"), width: 1 }, ticks: { show: false }, font: `12px ${colour("--font")}` };
    const chart = new UPlot(
      {
        width: el.clientWidth, height: 220, legend: { show: false }, cursor: { show: false },
        scales: { x: { time: true, range: (_, min, max) => [min - 43_200, max + 43_200] }, y: { range: (_, __, max) => [0, max || 1] }, usd: { range: (_, __, max) => [0, max || 1] } },
        axes: [
          { ...axis, size: 32, grid: { show: false }, values: (_, at) => at.map((t) => new Date(t * 1000).toLocaleDateString([], { month: "short", day: "numeric" })), incrs: [86_400, 7 * 86_400, 30 * 86_400] },
          { ...axis, size: 60, values: (_, v) => v.map((n) => tokens(n)) },
          { ...axis, show: paid, scale: "usd", side: 1, size: 60, grid: { show: false }, values: (_, v, __, ___, step) => v.map((n) => dollarMark(n, step)) },
        ],
        series: [
          {},
          { fill: colour("--accent"), stroke: colour("--accent"), paths: UPlot.paths.bars!({ size: [0.6, 40] }), points: { show: false } },
          { show: paid, scale: "usd", stroke: colour("--text"), width: 2, points: { show: false } },
        ],
      },
      [days.map((d) => d.time), days.map((d) => d.tokens), days.map((d) => d.cost)],
      el,
    );
    const observer = new ResizeObserver(() => chart.setSize({ width: el.clientWidth, height: 220 }));
    observer.observe(el);
    return () => {
      observer.disconnect();
      chart.destroy();
    };
  }, [rows]);
  return (
    <>
      <div ref={box} className="chart" role="img" aria-label="Tokens and cost of each day; the table below has the numbers" />
      <p className="legend small dim"><span className="swatch" /> tokens {rows.some((r) => r.cost_usd > 0) && <><span className="swatch line" /> cost</>}</p>
    </>
  );
}

/** One entry for each of the last days, also for those on which nothing was used. */
function fill(rows: UsageRow[]): { time: number; tokens: number | null; cost: number }[] {
  const byDay = new Map(rows.map((r) => [r.key.slice(0, 10), r]));
  const end = Math.floor(Date.now() / 86_400_000) * 86_400;
  return Array.from({ length: 30 }, (_, i) => {
    const time = end - (29 - i) * 86_400;
    const row = byDay.get(new Date(time * 1000).toISOString().slice(0, 10));
    return { time, tokens: row ? totalTokens(row.usage) : null, cost: row?.cost_usd ?? 0 };
  });
}
