// What the agents of all sessions are doing, from what the stream tells.

import { create } from "zustand";
import type { Event } from "../api/types";
import { foldAct } from "../model/act";
import { type Act, noAct } from "../model/types";
import { fetchEvents } from "./sse";

export const useActs = create<{ sessions: Readonly<Record<string, Act>> }>(() => ({ sessions: {} }));

export function noteActs(events: readonly Event[]): void {
  let next: Record<string, Act> | undefined;
  const { sessions } = useActs.getState();
  for (const e of events) {
    const before = (next ?? sessions)[e.session] ?? noAct;
    const after = foldAct(before, e);
    if (after === before) continue;
    next ??= { ...sessions };
    if (after === noAct) delete next[e.session];
    else next[e.session] = after;
  }
  if (next) useActs.setState({ sessions: next });
}

const tail = 60; // events that tell what a session is doing
const asked = new Set<string>();

/** Looks up what a session does that worked before this page was open. */
export async function lookUpAct(session: string, lastSeq: number): Promise<void> {
  if (asked.has(session) || session in useActs.getState().sessions) return;
  asked.add(session);
  try {
    const events = await fetchEvents(session, Math.max(0, lastSeq - tail));
    if (!(session in useActs.getState().sessions)) noteActs(events);
  } catch {
    // The stream tells soon enough.
  } finally {
    asked.delete(session);
  }
}
