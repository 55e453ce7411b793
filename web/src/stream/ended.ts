// Turns that ended while nobody looked. They stay marked until somebody opens their
// session or ticks them off; what ended while the page was closed is looked up.

import { create } from "zustand";
import { persist } from "zustand/middleware";
import type { Event, KnownEvent, Session } from "../api/types";
import { parse } from "../lib/router";
import { isWorking } from "../model/lists";
import { changeMarks, type Marks } from "./marks";

export interface Ended {
  at: string;
  /** Why it failed; empty if it did not. */
  failed: string;
  /** The agent's last words. */
  text: string;
  /** The turn, where it is known. */
  turn?: string;
}

interface Store {
  sessions: Record<string, Ended>;
}

const name = "terret.ended";
const most = 200; // sessions that are remembered

export const useEnded = create<Store>()(persist((): Store => ({ sessions: {} }), { name, version: 1 }));

const looking = (session: string) => {
  if (document.hidden) return false;
  const route = parse(location.pathname);
  return route.page === "session" && route.session === session;
};

function mark(session: string, ended: Ended): void {
  useEnded.setState(({ sessions }) => ({
    sessions: Object.fromEntries(Object.entries({ ...sessions, [session]: ended }).sort(([, a], [, b]) => (a.at < b.at ? 1 : -1)).slice(0, most)),
  }));
}

/** Forgets marks; returns whose. */
function drop(which: (id: string, ended: Ended) => boolean): string[] {
  const { sessions } = useEnded.getState();
  const ids = Object.entries(sessions).filter(([id, e]) => which(id, e)).map(([id]) => id);
  if (ids.length > 0) useEnded.setState({ sessions: Object.fromEntries(Object.entries(sessions).filter(([id]) => !ids.includes(id))) });
  return ids;
}

/** A person has seen these, and need not see them on another device. */
export function tickOff(...ids: string[]): void {
  const seen = drop((id) => ids.includes(id));
  if (seen.length > 0) changeMarks({ seen }).catch(() => {}); // then they are seen here only
}

/** Forgets what was seen on another device. */
export const takeSeen = (seen: Marks["seen"]): void => void drop((id, e) => (seen[id] ?? "") >= e.at);

export function noteEnded(events: readonly Event[]): void {
  const seen: string[] = [];
  for (const event of events) {
    const e = event as KnownEvent;
    if (e.kind === "turn.start") drop((id) => id === e.session);
    if (e.kind !== "turn.complete" && e.kind !== "turn.error") continue;
    if (looking(e.session)) {
      seen.push(e.session);
      continue;
    }
    // Who stopped a turn knows that it ended.
    if (e.kind === "turn.error" && (e.data.error.kind === "interrupted" || e.data.error.kind === "killed")) continue;
    mark(e.session, { at: e.time, failed: e.kind === "turn.error" ? e.data.error.message : "", text: (e.data.text ?? "").trim().slice(0, 300), ...(e.turn ? { turn: e.turn } : {}) });
  }
  if (seen.length > 0) changeMarks({ seen }).catch(() => {}); // else another device is told
}

/** Marks what changed since this browser last looked and works no longer; not logs without an agent, which nobody opens. */
export function markEnded(sessions: readonly Session[], since: string): void {
  const known = useEnded.getState().sessions;
  for (const s of sessions) {
    if (s.agent === "none" || s.updated_at <= since || s.id in known || looking(s.id) || s.last_seq === 0 || isWorking(s.state)) continue;
    mark(s.id, { at: s.updated_at, failed: s.state === "failed" ? "It failed." : "", text: "" });
  }
}

/** Keeps the marks of all tabs the same; the result stops it. */
export function shareEnded(): () => void {
  const look = () => {
    const route = parse(location.pathname);
    if (route.page === "session" && looking(route.session)) tickOff(route.session);
  };
  const onStorage = async (e: StorageEvent) => {
    if (e.key !== name) return;
    await useEnded.persist.rehydrate();
    look();
  };
  window.addEventListener("storage", onStorage);
  document.addEventListener("visibilitychange", look);
  return () => {
    window.removeEventListener("storage", onStorage);
    document.removeEventListener("visibilitychange", look);
  };
}
