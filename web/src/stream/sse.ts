// Reads text/event-stream by fetch: EventSource can neither send a Bearer token
// nor hand over kinds that it was not told of.

import { createParser } from "eventsource-parser";
import { send } from "../api/http";
import type { Event, KnownEvent } from "../api/types";

export interface Entry {
  cursor: string;
  event: Event;
}

/** How long a stream may be silent. The server sends a heartbeat every 15 s. */
export const silenceLimit = 40_000;

/** The rest after a batch, in milliseconds: what comes meanwhile makes the next one. */
export const rest = 50;

/**
 * Reads one stream until it ends, fails, or is silent for too long. Entries are
 * handed over in batches: the first at once, and no more than twenty a second while
 * somebody looks. A page that nobody sees does not rest, since its timers are slow
 * and other tabs may wait for what it reads.
 */
export async function readStream(
  path: string,
  options: {
    signal: AbortSignal;
    onOpen: () => void;
    onEntries: (entries: Entry[]) => void;
    /** A place in the stream that came without an event: where it begins. */
    onCursor: (cursor: string) => void;
  },
): Promise<void> {
  const silent = new AbortController();
  let timer = setTimeout(() => silent.abort(), silenceLimit);
  try {
    const signal = AbortSignal.any([options.signal, silent.signal]);
    const response = await send(path, { headers: { Accept: "text/event-stream" }, signal });
    if (!response.body) return;
    options.onOpen();

    let batch: Entry[] = [];
    let lastId = "";
    const parser = createParser({
      onEvent: ({ id, data }) => {
        if (id) lastId = id;
        const event = decode(data);
        if (event) batch.push({ cursor: lastId, event });
        else if (id && batch.length === 0) options.onCursor(id);
      },
    });
    const text = new TextDecoder();
    const reader = response.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(() => silent.abort(), silenceLimit);
      parser.feed(text.decode(value, { stream: true }));
      if (batch.length > 0) {
        options.onEntries(batch);
        batch = [];
        if (!document.hidden) await new Promise((done) => setTimeout(done, rest));
      }
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Decodes an event; what is not one is skipped, never an error. */
export function decode(data: string): Event | null {
  try {
    const event = JSON.parse(data) as Event;
    return typeof event?.kind === "string" && typeof event.session === "string" ? event : null;
  } catch {
    return null;
  }
}

/**
 * Fetches the events of a session after a number: all but pieces of text, and then,
 * where messages are still being written, their pieces.
 */
export async function fetchEvents(session: string, after: number): Promise<Event[]> {
  const whole = await fetchPage(session, after, "0");
  const from = unfinishedAfter(whole, after);
  if (from === null) return whole;
  return [...whole.filter((e) => e.seq <= from), ...(await fetchPage(session, from, "1"))];
}

/** How many stopped turns are asked for what they left half said: the last ones. */
const stoppedTurns = 5;

/**
 * Fetches the same, and the pieces of messages that turns left unfinished when they were
 * stopped or failed: no later event holds those.
 */
export async function fetchHistory(session: string, after: number): Promise<Event[]> {
  const events = await fetchEvents(session, after);
  const spans = brokenOff(events, after).slice(-stoppedTurns);
  const pieces = (await Promise.all(spans.map(([from, to]) => fetchPieces(session, from, to)))).flat();
  if (pieces.length === 0) return events;
  const known = new Set(events.map((e) => e.seq));
  return [...events, ...pieces.filter((e) => !known.has(e.seq))].sort((a, b) => a.seq - b.seq);
}

/** Where messages may have been broken off: the numbers after which, and those of the ends of the turns. */
export function brokenOff(events: readonly Event[], after: number): [from: number, to: number][] {
  const out: [number, number][] = [];
  let turn: Event[] = [];
  for (const e of events) {
    turn.push(e);
    if (e.kind === "turn.error") {
      const from = unfinishedAfter(turn.slice(0, -1), out.length === 0 ? after : 0);
      if (from !== null) out.push([from, e.seq]);
    }
    if (e.kind === "turn.error" || e.kind === "turn.complete") turn = [];
  }
  return out;
}

/** Pieces of text between two numbers. Reading ends there: what follows may be long. */
async function fetchPieces(session: string, from: number, to: number): Promise<Event[]> {
  const response = await send(`/v1/sessions/${encodeURIComponent(session)}/events?after=${from}&deltas=1&kinds=message.delta,reasoning.delta`, {
    headers: { Accept: "application/x-ndjson" },
  });
  const events: Event[] = [];
  const reader = response.body?.getReader();
  const text = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    const lines = (rest + text.decode(value, { stream: !done })).split("\n");
    rest = done ? "" : lines.pop()!;
    for (const line of lines) {
      const event = line ? decode(line) : null;
      if (event && event.seq > to) {
        await reader?.cancel();
        return events;
      }
      if (event) events.push(event);
    }
    if (done) return events;
  }
}

async function fetchPage(session: string, after: number, deltas: "0" | "1"): Promise<Event[]> {
  const response = await send(`/v1/sessions/${encodeURIComponent(session)}/events?after=${after}&deltas=${deltas}`, {
    headers: { Accept: "application/x-ndjson" },
  });
  const events: Event[] = [];
  for (const line of (await response.text()).split("\n")) {
    const event = line ? decode(line) : null;
    if (event) events.push(event);
  }
  return events;
}

/**
 * The number after which messages may be unfinished, from the events after a number
 * without pieces of text; null if no turn is running. Each thread writes one message at
 * a time, so that is the oldest of the threads' last whole messages.
 */
export function unfinishedAfter(events: readonly Event[], after: number): number | null {
  const last = new Map<string, number>();
  if (after > 0) last.set("", after); // what was being written then may still be
  for (const event of events) {
    const e = event as KnownEvent;
    if (e.kind === "turn.start") last.set("root", e.seq);
    else if (e.kind === "turn.complete" || e.kind === "turn.error") last.clear();
    else if (e.kind === "subagent.start") last.set(`sub:${e.data.id}`, e.seq);
    else if (e.kind === "subagent.stop") last.delete(`sub:${e.data.id}`);
    else if (e.kind === "message.complete" && e.data.role === "assistant" && last.has(e.actor || "root")) last.set(e.actor || "root", e.seq);
  }
  return last.size > 0 ? Math.min(...last.values()) : null;
}
