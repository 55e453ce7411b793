// What the agents of all sessions are doing, from what the stream tells.

import { create } from "zustand";
import { call } from "../api/http";
import type { Event, List, Turn } from "../api/types";
import { foldAct } from "../model/act";
import { type Act, noAct } from "../model/types";
import { fetchEvents } from "./sse";

export const useActs = create<{ sessions: Readonly<Record<string, Act>> }>(() => ({ sessions: {} }));

const actOf = (session: string): Act | undefined => useActs.getState().sessions[session];

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

/** Looks up what a session does, and since when, that worked before this page was open. */
export async function lookUpAct(session: string, lastSeq: number): Promise<void> {
  if (asked.has(session) || actOf(session)?.since) return;
  asked.add(session);
  try {
    if (!actOf(session)) {
      const events = await fetchEvents(session, Math.max(0, lastSeq - tail));
      if (!actOf(session)) noteActs(events);
    }
    if (!actOf(session)?.since) await lookUpStart(session);
  } catch {
    // The stream tells soon enough.
  } finally {
    asked.delete(session);
  }
}

/** A long answer has more pieces than the events that are looked at: its turn says when it began. */
async function lookUpStart(session: string): Promise<void> {
  const before = actOf(session);
  const { items } = await call<List<Turn>>(`/v1/sessions/${encodeURIComponent(session)}/turns`);
  const since = items.findLast((t) => t.state === "running")?.started_at;
  const now = actOf(session);
  if (!since || now?.since || (before && !now)) return; // meanwhile another one began, or this one ended
  useActs.setState(({ sessions }) => ({ sessions: { ...sessions, [session]: { ...(now ?? noAct), since } } }));
}
