// Lists change a few times a second, however many events come.

import type { Event } from "../api/types";
import { isDecision, isRequest } from "../model/requests";

export const between = 250; // milliseconds between two changes of the lists

/** Whether a person is asked something, or no longer asked. What a rule answered at once is nothing to them. */
function asks(events: readonly Event[]): boolean {
  const open = new Set<string>();
  for (const e of events) {
    if (isRequest(e)) open.add(e.data.request_id);
    else if (isDecision(e) && !open.delete(e.data.request_id) && e.kind !== "hook.decision") return true;
  }
  return open.size > 0;
}

export interface Batches {
  push: (events: readonly Event[]) => void;
  close: () => void;
}

/** Hands events on: the first at once, those after it together, and all as soon as a person is asked something. */
export function inBatches(take: (events: readonly Event[]) => void): Batches {
  let waiting: Event[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.length === 0) return;
    const events = waiting;
    waiting = [];
    timer = setTimeout(flush, between);
    take(events);
  };
  return {
    push: (events) => {
      waiting.push(...events);
      if (!timer || asks(events)) flush();
    },
    close: () => clearTimeout(timer),
  };
}
