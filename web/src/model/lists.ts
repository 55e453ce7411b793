// What events change in the lists of sessions and of open requests.

import type { Event, KnownEvent, Request, Session } from "../api/types";
import { baseName } from "../lib/format";
import { isDecision, isRequest, requestOf } from "./requests";

const quiet = new Set(["session.resumed", "session.end", "process.exit"]);

/** Pieces of text come many times a second and say nothing new about a session. */
const isPiece = (kind: string) => kind === "message.delta" || kind === "reasoning.delta" || kind === "tool.delta" || kind === "tool.progress";

/** Whether the event makes its session newer in lists, here as on the server. */
const touches = (kind: string) => !quiet.has(kind) && !isPiece(kind);

/** The session after the event; the same object if nothing changed. */
export function patchSession(s: Session, event: Event): Session {
  if (event.seq <= s.last_seq || isPiece(event.kind)) return s;
  const e = event as KnownEvent;
  const next: Session = { ...s, last_seq: e.seq };
  // Agents that come and go, as after a restart, say nothing new about the session.
  if (quiet.has(event.kind)) return next;
  next.updated_at = e.time;
  switch (e.kind) {
    case "session.state":
      next.state = e.data.state;
      break;
    case "session.updated":
      Object.assign(next, e.data);
      if (!next.model) next.model = s.model; // an agent that has not begun yet names none
      break;
    case "session.start":
      if (e.data.model) next.model = e.data.model;
      break;
    case "usage.update":
      next.cost_usd = e.data.cost_usd;
      break;
    default:
      // As the server counts: tools that wait for a hook, too, since decisions about them come as well.
      if (isDecision(e)) next.open_requests = Math.max(0, s.open_requests - 1);
      else if (isRequest(e) || event.expects) next.open_requests = s.open_requests + 1;
  }
  return next;
}

/** Whether only the server knows what the event changes: what undo would do, sums, ends. */
export const unsettles = (kind: string) => kind === "turn.complete" || kind === "turn.error" || kind === "checkpoint.rewound" || kind === "session.end";

/** The list after the events, newest first, and the same one if nothing changed; fresh says that it must be fetched again. */
export function patchSessions(list: Session[], events: readonly Event[]): { list: Session[]; fresh: boolean } {
  const byId = new Map(list.map((s) => [s.id, s]));
  let fresh = false;
  let changed = false;
  for (const e of events) {
    const s = byId.get(e.session);
    const next = s && patchSession(s, e);
    if (!next) {
      // The server has more sessions than the list: only what makes this one newer can bring it in.
      fresh ||= touches(e.kind);
      continue;
    }
    if (next !== s) {
      byId.set(next.id, next);
      changed = true;
    }
    if (unsettles(e.kind)) fresh = true;
  }
  if (!changed) return { list, fresh };
  const out = [...byId.values()].sort((a, b) => (a.updated_at < b.updated_at ? 1 : a.updated_at > b.updated_at ? -1 : 0));
  return { list: out, fresh };
}

/** The open requests after the events, oldest first. */
export function patchRequests(open: readonly Request[], events: readonly Event[]): readonly Request[] {
  let out = open;
  for (const e of events) {
    if (isRequest(e)) {
      const request = requestOf(e);
      if (!out.some((r) => r.request_id === request.request_id)) out = [...out, request];
    } else if (isDecision(e)) {
      const id = e.data.request_id;
      if (out.some((r) => r.request_id === id)) out = out.filter((r) => r.request_id !== id);
    }
  }
  return out;
}

/**
 * Sessions by folder, each newest first, the folders by their newest session. Worktrees
 * belong to the folder of the same name, of which they are copies.
 */
export function groupByFolder(list: readonly Session[]): { cwd: string; sessions: Session[] }[] {
  const homes = new Map<string, string>();
  for (const s of list) if (!s.options?.worktree && !homes.has(baseName(s.cwd))) homes.set(baseName(s.cwd), s.cwd);
  const groups = new Map<string, Session[]>();
  for (const s of list) {
    const name = baseName(s.cwd);
    if (s.options?.worktree && !homes.has(name)) homes.set(name, s.cwd);
    const cwd = s.options?.worktree ? homes.get(name)! : s.cwd;
    const group = groups.get(cwd);
    if (group) group.push(s);
    else groups.set(cwd, [s]);
  }
  return [...groups].map(([cwd, sessions]) => ({ cwd, sessions }));
}

/** The name of a folder among others: its own, and its parent's where two share one. */
export function folderName(cwd: string, all: readonly string[]): string {
  const own = baseName(cwd);
  return all.some((other) => other !== cwd && baseName(other) === own) ? cwd.split(/[/\\]/).filter(Boolean).slice(-2).join("/") : own;
}

export type Dot = "busy" | "needs" | "failed" | "idle";

export function dotOf(s: Pick<Session, "state" | "open_requests">): Dot {
  if (s.open_requests > 0 || s.state === "waiting") return "needs";
  switch (s.state) {
    case "starting":
    case "busy":
    case "compacting":
    case "retrying":
    case "interrupting":
      return "busy";
    case "failed":
    case "stale":
      return "failed";
    default:
      return "idle";
  }
}

export const isWorking = (state: Session["state"]) =>
  state === "starting" || state === "busy" || state === "waiting" || state === "compacting" || state === "retrying" || state === "interrupting";
