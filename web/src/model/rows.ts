// The rows that the conversation shows: its items, with runs of reads and searches
// collapsed, and requests in the place of what they are about.

import type { Item, ToolItem } from "./types";

export type Row =
  | { key: string; type: "item"; item: Item }
  | { key: string; type: "group"; tools: ToolItem[] };

const looks = (item: Item): item is ToolItem =>
  item.type === "tool" && (item.class === "read" || item.class === "search") && item.state === "done" && !item.requestId;

/**
 * Whether a request says nothing of its own: nobody had to be asked about it, nobody had
 * an opinion, or the row of its tool says how it was answered.
 */
function silent(item: Item, onTools: ReadonlySet<string>): boolean {
  if (item.type !== "request" || item.request.state !== "decided") return false;
  const d = item.request.decision;
  if (!d || d.behavior === "passthrough" || onTools.has(item.key)) return true;
  return item.request.gate !== "question" && item.request.gate !== "plan" && (d.source === "policy" || d.source === "rule") && d.behavior === "allow";
}

/** Whether it turned out that nothing was said. */
const empty = (item: Item) => item.type === "text" && !item.streaming && item.text.trim() === "";

export function rowsOf(items: readonly Item[]): Row[] {
  const rows: Row[] = [];
  const onTools = new Set(items.flatMap((i) => (i.type === "tool" && i.requestId ? [i.requestId] : [])));
  let run: ToolItem[] = [];
  const flush = () => {
    if (run.length > 1) rows.push({ key: `g-${run[0]!.key}`, type: "group", tools: run });
    else for (const item of run) rows.push({ key: item.key, type: "item", item });
    run = [];
  };
  for (const item of items) {
    if (silent(item, onTools) || empty(item)) continue;
    if (looks(item)) {
      run.push(item);
      continue;
    }
    flush();
    rows.push({ key: item.key, type: "item", item });
  }
  flush();
  return rows;
}

/** The row that shows an item, also within a group, or the row of the tool that a request is about; -1 if none does. */
export const rowOf = (rows: readonly Row[], key: string): number =>
  rows.findIndex((row) => (row.type === "group" ? row.tools.some((t) => t.key === key) : row.item.key === key || (row.item.type === "tool" && row.item.requestId === key)));

/** The row of a message: by its id, or else the prompt or the end of its turn; -1 if it is not there. */
export function rowOfMessage(rows: readonly Row[], turn: string, messageId: string, mine: boolean): number {
  const at = rows.findIndex((r) => r.type === "item" && messageId !== "" && (r.item.messageId === messageId || r.item.key === messageId) && (r.item.type === "text" || r.item.type === "user"));
  if (at >= 0) return at;
  const of = (r: Row) => r.type === "item" && r.item.turn === turn && r.item.type === (mine ? "user" : "text");
  const near = mine ? rows.findIndex(of) : rows.findLastIndex(of);
  return near >= 0 ? near : rows.findIndex((r) => (r.type === "item" ? r.item.turn : r.tools[0]!.turn) === turn);
}

/** The words of an item, for finding. */
export function wordsOf(item: Item): string {
  switch (item.type) {
    case "user":
      return item.blocks.map((b) => b.text ?? "").join(" ");
    case "text":
    case "thinking":
      return item.text;
    case "tool":
      return `${item.name} ${item.title ?? ""} ${JSON.stringify(item.input ?? "")} ${item.output} ${item.error ?? ""}`;
    case "request":
      return `${item.request.data.title ?? ""} ${item.request.data.plan ?? ""} ${(item.request.data.questions ?? []).map((q) => q.text).join(" ")}`;
    case "subagent":
      return `${item.name} ${item.description} ${item.result ?? ""}`;
    case "task":
      return `${item.description} ${item.text ?? ""}`;
    case "notice":
      return `${item.text} ${item.detail ?? ""}`;
    case "turn-end":
      return item.error?.message ?? "";
    case "media":
      return item.block.name ?? "";
  }
}

/** Finds the words without regard to case, if there are any. */
export const finder = (words: string) => (words.trim() ? new RegExp(words.trim().replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "giu") : undefined);

/** Whether a row shows all its words; others fold them. */
export const inFull = (row: Row) => row.type === "item" && (row.item.type === "text" || row.item.type === "user");

/** The row of each match. What folds its words counts once. */
export function findRows(rows: readonly Row[], words: string): number[] {
  const find = finder(words);
  if (!find) return [];
  return rows.flatMap((row, i) => {
    const items: readonly Item[] = row.type === "group" ? row.tools : [row.item];
    const found = items.flatMap((item) => wordsOf(item).match(find) ?? []);
    return (inFull(row) ? found : found.slice(0, 1)).map(() => i);
  });
}
