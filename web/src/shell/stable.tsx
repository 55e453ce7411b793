// Lists that stay where they are while a person is about to click in them.

import { useRef } from "react";

export interface Line<T> {
  item: T;
  /** It is no longer in the list; it keeps its place until the list is let go. */
  gone: boolean;
}

/** The lines to show: those of before while the list is held, with newcomers counted. */
export function hold<T>(before: readonly Line<T>[], items: readonly T[], key: (t: T) => string, held: boolean): { lines: Line<T>[]; fresh: number } {
  if (!held || before.length === 0) return { lines: items.map((item) => ({ item, gone: false })), fresh: 0 };
  const now = new Map(items.map((i) => [key(i), i]));
  const lines = before.map(({ item }) => {
    const found = now.get(key(item));
    return found ? { item: found, gone: false } : { item, gone: true };
  });
  const known = new Set(before.map(({ item }) => key(item)));
  return { lines, fresh: items.filter((i) => !known.has(key(i))).length };
}

export function useStable<T>(items: readonly T[], key: (t: T) => string, held: boolean): { lines: Line<T>[]; fresh: number } {
  const before = useRef<Line<T>[]>([]);
  const out = hold(before.current, items, key, held);
  before.current = out.lines;
  return out;
}

/** How many newcomers wait until the list is let go. */
export function Fresh({ count }: { count: number }) {
  return count > 0 ? <span className="fresh small" role="status">{count} new</span> : null;
}
