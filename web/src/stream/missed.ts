// Requests that timed out before anybody answered. They stay marked until somebody looks
// at their session; what happened while the page was closed is looked up when it opens.

import { create } from "zustand";
import { persist } from "zustand/middleware";
import { call, query } from "../api/http";
import type { Event, List, Request, Session } from "../api/types";
import { markEnded } from "./ended";
import { isDecision } from "../model/requests";

interface Missed {
  /** Sessions with requests that timed out, and when the last one did. */
  sessions: Record<string, string>;
  /** Until when this browser has looked. */
  until: string;
}

export const useMissed = create<Missed>()(persist((): Missed => ({ sessions: {}, until: "" }), { name: "terret.missed", version: 1 }));

const every = 5_000; // milliseconds between two notes of the time
const most = 20; // sessions that are looked at when the page opens

const mark = (session: string, time: string) => useMissed.setState((s) => ({ sessions: { ...s.sessions, [session]: time } }));

/** Forgets what was missed in a session: somebody has seen it. */
export function seen(session: string): void {
  if (!(session in useMissed.getState().sessions)) return;
  useMissed.setState((s) => ({ sessions: Object.fromEntries(Object.entries(s.sessions).filter(([id]) => id !== session)) }));
}

export function noteMissed(events: readonly Event[]): void {
  for (const e of events) {
    if (isDecision(e) && e.data.source === "timeout" && waited(e.data.gate)) mark(e.session, e.time);
  }
  const last = events.at(-1);
  if (last && Date.parse(last.time) - Date.parse(useMissed.getState().until || "1970-01-01") > every) useMissed.setState({ until: last.time });
}

/** Hooks time out by themselves; only a person misses a request. */
const waited = (gate: string) => gate === "permission" || gate === "question" || gate === "plan";

/** Looks up what timed out since this browser last looked. */
export async function lookBack(): Promise<void> {
  const { until } = useMissed.getState();
  useMissed.setState({ until: new Date().toISOString() });
  if (!until) return;
  try {
    const { items } = await call<List<Session>>(`/v1/sessions${query({ limit: "100" })}`);
    markEnded(items, until);
    for (const s of items.filter((x) => x.updated_at > until).slice(0, most)) {
      const requests = await call<List<Request>>(`/v1/decisions${query({ session: s.id, state: "all", limit: "1000" })}`);
      const late = requests.items.filter((r) => r.decision?.source === "timeout" && waited(r.gate) && (r.expires_at ?? "") > until);
      if (late.length > 0) mark(s.id, late.at(-1)!.expires_at!);
    }
  } catch {
    useMissed.setState({ until }); // the next time, then
  }
}
