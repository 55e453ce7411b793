// @vitest-environment happy-dom
import { afterEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "../api/http";
import { Hub, type HubListener, type Status } from "./hub";
import type { Entry, readStream } from "./sse";

type Read = typeof readStream;

const entry = (cursor: string): Entry => ({
  cursor, event: { seq: Number(cursor), session: "s", time: "", kind: "notification", data: {} },
});

function listener() {
  const seen: string[] = [];
  const states: Status["state"][] = [];
  const opens: boolean[] = [];
  const l: HubListener = {
    onEntries: (entries) => seen.push(...entries.map((e) => e.cursor)),
    onOpen: (exact) => opens.push(exact),
    onStatus: (s) => states.push(s.state),
  };
  return { l, seen, states, opens };
}

/** A server that plays one script for each connection. */
function server(...scripts: ((emit: Parameters<Read>[1]) => Promise<void> | void)[]) {
  const paths: string[] = [];
  const read: Read = async (path, options) => {
    paths.push(path);
    const script = scripts.shift();
    if (script) return script(options);
    return new Promise((_, reject) => options.signal.addEventListener("abort", () => reject(new Error("aborted"))));
  };
  return { read, paths };
}

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe("without sharing", () => {
  it("goes on from the last cursor after the stream broke", async () => {
    vi.useFakeTimers();
    vi.stubGlobal("BroadcastChannel", undefined);
    vi.stubGlobal("navigator", {});
    const { read, paths } = server(
      ({ onOpen, onEntries }) => {
        onOpen();
        onEntries([entry("1"), entry("2")]);
      },
      () => {
        throw new ApiError("connection_failed", "gone", 0);
      },
      ({ onOpen, onEntries }) => {
        onOpen();
        onEntries([entry("3")]);
      },
    );
    const { l, seen, states, opens } = listener();
    const hub = new Hub(l, read);
    hub.start();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(paths.slice(0, 3)).toEqual(["/v1/events?cursor=now", "/v1/events?cursor=2", "/v1/events?cursor=2"]);
    expect(paths[3]).toBe("/v1/events?cursor=3");
    expect(seen).toEqual(["1", "2", "3"]);
    expect(opens).toEqual([false, true]);
    expect(states).toEqual(["live", "reconnecting", "live", "reconnecting"]);
    hub.close();
  });

  it("remembers where a stream began that brought nothing", async () => {
    vi.useFakeTimers();
    vi.stubGlobal("BroadcastChannel", undefined);
    vi.stubGlobal("navigator", {});
    const { read, paths } = server(({ onOpen, onCursor }) => {
      onOpen();
      onCursor("start");
    });
    const hub = new Hub(listener().l, read);
    hub.start();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(paths).toEqual(["/v1/events?cursor=now", "/v1/events?cursor=start"]);
    hub.close();
  });

  it("begins anew when the cursor is refused, and stops when the token is", async () => {
    vi.useFakeTimers();
    vi.stubGlobal("BroadcastChannel", undefined);
    vi.stubGlobal("navigator", {});
    const { read, paths } = server(
      ({ onOpen, onEntries }) => {
        onOpen();
        onEntries([entry("7")]);
      },
      () => {
        throw new ApiError("invalid_request", "bad cursor", 422);
      },
      () => {
        throw new ApiError("unauthorized", "no", 401);
      },
    );
    const { l, states } = listener();
    const hub = new Hub(l, read);
    hub.start();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(paths).toEqual(["/v1/events?cursor=now", "/v1/events?cursor=7", "/v1/events?cursor=now"]);
    expect(states.at(-1)).toBe("signed-out");
    hub.close();
  });
});

describe("shared between tabs", () => {
  it("one tab reads, the others hear, and the next one goes on", async () => {
    const channels = new Set<{ onmessage: ((e: { data: unknown }) => void) | null }>();
    class Channel {
      onmessage: ((e: { data: unknown }) => void) | null = null;
      constructor() {
        channels.add(this);
      }
      postMessage(data: unknown) {
        for (const c of channels) if (c !== this) c.onmessage?.({ data });
      }
      close() {
        channels.delete(this);
      }
    }
    let tail: Promise<unknown> = Promise.resolve();
    vi.stubGlobal("BroadcastChannel", Channel);
    vi.stubGlobal("navigator", {
      locks: { request: (_: string, __: unknown, fn: () => Promise<void>) => (tail = tail.then(fn)) },
    });
    let emit: Parameters<Read>[1] | undefined;
    const paths: string[] = [];
    const read: Read = (path, options) => {
      paths.push(path);
      emit = options;
      return new Promise((resolve) => options.signal.addEventListener("abort", () => resolve()));
    };
    const a = listener();
    const b = listener();
    const first = new Hub(a.l, read);
    const second = new Hub(b.l, read);
    first.start();
    second.start();
    await vi.waitFor(() => expect(emit).toBeDefined());
    emit!.onOpen();
    emit!.onEntries([entry("1")]);
    expect(a.seen).toEqual(["1"]);
    expect(b.seen).toEqual(["1"]);
    expect(b.states).toEqual(["live"]);
    expect(paths).toEqual(["/v1/events?cursor=now"]);

    first.close();
    await vi.waitFor(() => expect(paths).toEqual(["/v1/events?cursor=now", "/v1/events?cursor=1"]));
    emit!.onEntries([entry("2")]);
    expect(a.seen).toEqual(["1"]);
    expect(b.seen).toEqual(["1", "2"]);
    second.close();
  });
});
