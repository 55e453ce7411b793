// Several sessions that want the same are one line, answered at once.

import type { Request } from "../api/types";

/** The same value in the same words, in whatever order its fields came. */
const inOrder = (_: string, v: unknown): unknown =>
  v && typeof v === "object" && !Array.isArray(v) ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1))) : v;

/** What would run, to the last part of it; empty if the request is like no other. */
export const wanted = ({ gate, data }: Request): string =>
  gate === "permission" && data.tool && data.input !== undefined ? JSON.stringify([data.tool, data.class, data.input, data.diff ?? ""], inOrder) : "";

/** The items in their order; those in which several sessions want the same are together at the place of the first. */
export function gather<T>(items: readonly T[], of: (item: T) => Request): T[][] {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = wanted(of(item)) || of(item).request_id;
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return [...groups.values()].flatMap((g) => (new Set(g.map((i) => of(i).session)).size > 1 ? [g] : g.map((i) => [i])));
}
