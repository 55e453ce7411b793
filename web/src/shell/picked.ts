// The sessions that a person selected in the list, to do one thing to all of them.

import { create } from "zustand";

/** The sessions that the list has, also those out of view, in the order in which they are shown. */
export const listed: { sessions: readonly string[] } = { sessions: [] };

interface Picked {
  ids: readonly string[];
  /** The one that was selected last, from which a range goes. */
  last: string;
  /** Those whose labels are shown. */
  labelling: readonly string[];
}

export const usePicked = create<Picked>(() => ({ ids: [], last: "", labelling: [] }));

export const unpickAll = () => usePicked.setState({ ids: [], last: "" });

/** The selection after one more: all from the last one on, or with or without that one. */
export function pickTo(ids: readonly string[], last: string, id: string, range: boolean, order: readonly string[]): readonly string[] {
  const [from, to] = [order.indexOf(last), order.indexOf(id)];
  if (range && from >= 0 && to >= 0) return [...new Set([...ids, ...order.slice(Math.min(from, to), Math.max(from, to) + 1)])];
  return ids.includes(id) ? ids.filter((i) => i !== id) : [...ids, id];
}

export const pick = (id: string, range: boolean, order: readonly string[]) =>
  usePicked.setState(({ ids, last }) => ({ ids: pickTo(ids, last, id, range, order), last: id }));
