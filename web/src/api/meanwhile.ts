// What happens while something is fetched: the server may have answered just before, and
// the answer replaces what events have changed since.

import type { Event } from "./types";

const fetching = new Set<Event[]>();

/** Events that came over the stream. */
export function hear(events: readonly Event[]): void {
  for (const heard of fetching) heard.push(...events);
}

/** What is fetched, after the events that were heard meanwhile. */
export async function caughtUp<T>(fetched: Promise<T>, apply: (value: T, events: readonly Event[]) => T): Promise<T> {
  const heard: Event[] = [];
  fetching.add(heard);
  try {
    return apply(await fetched, heard);
  } finally {
    fetching.delete(heard);
  }
}
