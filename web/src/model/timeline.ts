// A session as a picture: its turns, what ran in each, and when it waited for a person.

import type { Decision, ToolClass } from "../api/types";
import { argument } from "./summary";
import { type Conversation, type Item, root } from "./types";

export interface Bar {
  key: string;
  kind: ToolClass | "wait";
  bad: boolean;
  /** Milliseconds since the turn began. */
  from: number;
  to: number;
  title: string;
}

export interface TurnLine {
  key: string;
  title: string;
  time: string;
  ms: number;
  running: boolean;
  bars: Bar[];
  tools: number;
  /** How long it waited for answers. */
  waited: number;
  costUsd: number;
  failed: boolean;
  undone: boolean;
}

export function timeline(c: Conversation, now: number): TurnLine[] {
  const lines: TurnLine[] = [];
  const byTurn = new Map<string, TurnLine>();
  const at = (time: string, line: TurnLine) => Math.max(0, Date.parse(time) - Date.parse(line.time));
  for (const item of c.threads.get(root) ?? []) {
    const line = byTurn.get(item.turn);
    if (item.type === "user" && !line) {
      const running = c.runningTurn === item.turn;
      const made: TurnLine = {
        key: item.key, title: item.blocks.map((b) => b.text ?? "").join(" ").trim(), time: item.time,
        ms: running ? Math.max(0, now - Date.parse(item.time)) : 0, running, bars: [], tools: 0, waited: 0, costUsd: 0, failed: false, undone: c.undone.has(item.turn),
      };
      byTurn.set(item.turn, made);
      lines.push(made);
    } else if (item.type === "turn-end" && line) {
      line.ms = Math.max(item.durationMs, at(item.time, line));
      line.costUsd = item.costUsd;
      line.failed = !!item.error && item.error.kind !== "interrupted";
    }
  }
  for (const items of c.threads.values()) for (const item of items) addBar(byTurn.get(item.turn), item, at);
  return lines;
}

/** Whether nobody had to answer. */
const decidedAlone = (d: Decision | undefined) => d?.source === "rule" || d?.source === "policy";

function addBar(line: TurnLine | undefined, item: Item, at: (time: string, line: TurnLine) => number): void {
  if (!line) return;
  const from = at(item.time, line);
  const bar = (kind: Bar["kind"], to: number, title: string, bad: boolean) =>
    line.bars.push({ key: item.key, kind, bad, from: Math.min(from, line.ms), to: Math.min(Math.max(to, from), Math.max(line.ms, from)), title });
  if (item.type === "tool") {
    line.tools++;
    const ended = item.state !== "running" && item.state !== "writing";
    bar(item.class, ended ? from + (item.durationMs ?? 0) : line.ms, `${item.name} ${argument(item.input, "")}`, item.state === "failed" || item.state === "denied");
  } else if (item.type === "request" && (item.decidedAt || item.request.state === "open") && !decidedAlone(item.request.decision)) {
    const to = item.decidedAt ? at(item.decidedAt, line) : line.ms;
    line.waited += Math.max(0, to - from);
    bar("wait", to, "Waited for your answer", false);
  }
}
