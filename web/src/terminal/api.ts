// Terminals of a session: what there is, and what a person does with them.

import { createParser } from "eventsource-parser";
import { type QueryClient, useQuery } from "@tanstack/react-query";
import { ApiError, call, send } from "../api/http";
import { keys } from "../api/keys";
import type { List, Terminal } from "../api/types";
import { silenceLimit } from "../stream/sse";

const at = (session: string, rest = "") => `/v1/sessions/${encodeURIComponent(session)}/terminals${rest}`;
const one = (t: Terminal, rest = "") => at(t.session, `/${encodeURIComponent(t.id)}${rest}`);

/** How often is looked what runs in terminals, while there are any. */
const lookEvery = 4_000;

export const useTerminals = (session: string): Terminal[] | undefined =>
  useQuery({
    queryKey: keys.terminals(session), retry: false,
    queryFn: ({ signal }) => call<List<Terminal>>(at(session), { signal }),
    refetchInterval: (q) => (q.state.data?.items.length ? lookEvery : false),
  }).data?.items;

export const look = (client: QueryClient, session: string) => client.invalidateQueries({ queryKey: keys.terminals(session) });

export const openTerminal = (session: string) => call<Terminal>(at(session), { method: "POST", body: {} });
export const closeTerminal = (t: Terminal) => call<void>(one(t), { method: "DELETE" });
export const changeTerminal = (t: Terminal, change: { columns?: number; rows?: number; shared?: boolean }) =>
  call<Terminal>(one(t), { method: "PATCH", body: change });

/** How much is typed with one request, in characters. */
const most = 4000;
const patience = { tries: 25, ms: 200 };

/** Types texts in order: what comes while one is on its way goes out together in the next. */
export class Typist {
  private waiting = "";
  private busy = false;

  constructor(private readonly terminal: Terminal, private readonly failed: (cause: unknown) => void) {}

  type(text: string): void {
    this.waiting += text;
    if (!this.busy) void this.run();
  }

  private async run(): Promise<void> {
    this.busy = true;
    try {
      while (this.waiting) {
        let data = this.waiting.slice(0, most);
        if (/[\ud800-\udbff]$/.test(data) && data.length > 1) data = data.slice(0, -1); // not half a character
        this.waiting = this.waiting.slice(data.length);
        await this.send(data);
      }
    } catch (cause) {
      this.waiting = "";
      this.failed(cause);
    } finally {
      this.busy = false;
    }
  }

  private async send(data: string): Promise<void> {
    for (let n = 0; ; n++) {
      try {
        return await call<void>(one(this.terminal, "/input"), { method: "POST", body: { data } });
      } catch (cause) {
        if (!(cause instanceof ApiError) || cause.status !== 429 || n >= patience.tries) throw cause;
        await new Promise((done) => setTimeout(done, patience.ms)); // nothing of it was typed
      }
    }
  }
}

export interface Watcher {
  onState: (t: Terminal) => void;
  /** Takes bytes of output, and says when it is ready for more. */
  onOutput: (bytes: Uint8Array, next: number) => Promise<void>;
  /** What comes next does not follow what came before. */
  onMissed: () => void;
}

type Piece = { state: Terminal } | { bytes: Uint8Array; next: number } | "missed" | "end";

/** Reads what a terminal shows after so many bytes, once. Returns whether the terminal is over. */
async function read(t: Terminal, after: number, watcher: Watcher, stop: AbortSignal): Promise<boolean> {
  const silent = new AbortController();
  let timer = setTimeout(() => silent.abort(), silenceLimit);
  try {
    const response = await send(`${one(t, "/output")}?after=${after}`, { headers: { Accept: "text/event-stream" }, signal: AbortSignal.any([stop, silent.signal]) });
    if (!response.body) return false;
    let pieces: Piece[] = [];
    const parser = createParser({
      onEvent: ({ event, data, id }) => {
        if (event === "output") pieces.push({ bytes: Uint8Array.from(atob(data), (c) => c.charCodeAt(0)), next: Number(id) });
        else if (event === "terminal") pieces.push({ state: JSON.parse(data) as Terminal });
        else if (event === "missed") pieces.push("missed");
        else if (event === "stream.end") pieces.push("end");
      },
    });
    const text = new TextDecoder();
    const reader = response.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return false;
      clearTimeout(timer);
      timer = setTimeout(() => silent.abort(), silenceLimit);
      parser.feed(text.decode(value, { stream: true }));
      for (const piece of pieces) {
        if (piece === "end") return true;
        if (piece === "missed") watcher.onMissed();
        else if ("state" in piece) {
          watcher.onState(piece.state);
          if (piece.state.ended) return true;
        } else await watcher.onOutput(piece.bytes, piece.next);
      }
      pieces = [];
    }
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Follows a terminal until it is over or somebody stops it. A page that nobody sees does
 * not read: browsers allow few connections.
 */
export async function follow(t: Terminal, watcher: Watcher, stop: AbortSignal): Promise<void> {
  let next = 0;
  const counting: Watcher = { ...watcher, onOutput: (bytes, n) => { next = n; return watcher.onOutput(bytes, n); } };
  for (let wait = 250; !stop.aborted; wait = Math.min(wait * 2, 5_000)) {
    await seen(stop);
    const hidden = new AbortController();
    const onChange = () => document.hidden && hidden.abort();
    document.addEventListener("visibilitychange", onChange);
    const before = next;
    try {
      if (await read(t, next, counting, AbortSignal.any([stop, hidden.signal]))) return;
    } catch (cause) {
      if (cause instanceof ApiError && (cause.status === 404 || cause.status === 403 || cause.status === 401)) return;
    } finally {
      document.removeEventListener("visibilitychange", onChange);
    }
    if (next > before || hidden.signal.aborted) wait = 250;
    if (!stop.aborted) await new Promise((done) => setTimeout(done, wait));
  }
}

/** Waits until somebody sees the page. */
function seen(stop: AbortSignal): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((done) => {
    const listen = new AbortController();
    const end = () => { listen.abort(); done(); };
    document.addEventListener("visibilitychange", () => !document.hidden && end(), { signal: listen.signal });
    stop.addEventListener("abort", end, { signal: listen.signal });
  });
}
