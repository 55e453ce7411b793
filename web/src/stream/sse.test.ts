import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { noUsage, Script, text } from "../model/testing";
import { decode, type Entry, fetchEvents, fetchHistory, readStream, rest, unfinishedAfter } from "./sse";

const event = (seq: number) => JSON.stringify({ seq, session: "s", kind: "notification", time: "", data: { text: "ä" } });

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("document", { hidden: false });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function answer(...pieces: Uint8Array[]) {
  const fetch = vi.fn(async (_path: string, _init: RequestInit) =>
    new Response(
      new ReadableStream<Uint8Array>({
        start(controller) {
          for (const piece of pieces) controller.enqueue(piece);
          controller.close();
        },
      }),
    ));
  vi.stubGlobal("fetch", fetch);
  return fetch;
}

it("reads events that are cut anywhere, even within a letter", async () => {
  const bytes = new TextEncoder().encode(`: heartbeat\n\nid: 3\nevent: stream.start\ndata: {}\n\nid: 4\nevent: notification\ndata: ${event(4)}\n\nid: 5\nevent: x\ndata: ${event(5)}\n\n`);
  for (let cut = 1; cut < bytes.length; cut += 7) {
    const fetch = answer(bytes.slice(0, cut), bytes.slice(cut));
    const got: Entry[] = [];
    const started: string[] = [];
    const ended = readStream("/v1/events", { signal: new AbortController().signal, onOpen: () => {}, onEntries: (e) => got.push(...e), onCursor: (c) => started.push(c) });
    await vi.advanceTimersByTimeAsync(2 * rest);
    await ended;
    expect(got.map((e) => [e.cursor, e.event.seq, (e.event.data as { text: string }).text])).toEqual([["4", 4, "ä"], ["5", 5, "ä"]]);
    expect(fetch.mock.calls[0]![1].headers).toMatchObject({ Accept: "text/event-stream" });
    expect(started).toEqual(["3"]);
  }
});

it.each([false, true])("rests between two batches, unless nobody sees the page (hidden: %s)", async (hidden) => {
  vi.stubGlobal("document", { hidden });
  const line = (seq: number) => new TextEncoder().encode(`id: ${seq}\ndata: ${event(seq)}\n\n`);
  answer(line(1), line(2), line(3));
  const got: number[] = [];
  const ended = readStream("/v1/events", { signal: new AbortController().signal, onOpen: () => {}, onEntries: (e) => got.push(...e.map((x) => x.event.seq)), onCursor: () => {} });
  await vi.advanceTimersByTimeAsync(0);
  expect(got).toEqual(hidden ? [1, 2, 3] : [1]);
  await vi.advanceTimersByTimeAsync(rest);
  expect(got).toEqual(hidden ? [1, 2, 3] : [1, 2]);
  await vi.advanceTimersByTimeAsync(2 * rest);
  expect(got).toEqual([1, 2, 3]);
  await ended;
});

it("skips what is not an event", async () => {
  expect(decode("{")).toBeNull();
  expect(decode("null")).toBeNull();
  expect(decode('{"kind":3}')).toBeNull();
  answer(new TextEncoder().encode(`${event(1)}\nrubbish\n\n${event(2)}\n`));
  expect((await fetchEvents("s", 0)).map((e) => e.seq)).toEqual([1, 2]);
});

it("knows from where on messages may be unfinished", () => {
  const script = new Script();
  const after = () => unfinishedAfter(script.events, 0);
  const said = (id: string, actor = "root") => script.add("message.complete", { message_id: id, role: "assistant", blocks: [text(id)] }, { actor });
  expect(after()).toBe(null);
  script.add("turn.start", { prompt: [text("go")], origin: "user" });
  expect(after()).toBe(1);
  said("m1");
  expect(after()).toBe(2);
  script.add("subagent.start", { id: "x", type: "helper" });
  said("m2");
  expect(after()).toBe(2 + 1); // the helper may be writing
  said("h1", "sub:x");
  expect(after()).toBe(4);
  script.add("subagent.stop", { id: "x" });
  said("m3");
  expect(after()).toBe(7);
  expect(unfinishedAfter(script.events.slice(5), 5)).toBe(5); // whoever wrote before may still be writing
  script.add("turn.complete", { text: "", usage: noUsage, cost_usd: 0, duration_ms: 1 });
  expect(after()).toBe(null);
});

it("fetches history without pieces, and the pieces of what is unfinished", async () => {
  const script = new Script();
  script.add("turn.start", { prompt: [text("go")], origin: "user" });
  script.add("message.delta", { message_id: "m", index: 0, text: "half" });
  script.add("notification", { text: "by the way", level: "info" });
  script.add("message.delta", { message_id: "m", index: 0, text: " done" });
  const fetch = vi.fn(async (path: string) => {
    const asked = new URL(path, "http://x").searchParams;
    const events = script.events.filter((e) => e.seq > Number(asked.get("after")) && (asked.get("deltas") === "1" || !e.kind.endsWith(".delta")));
    return new Response(events.map((e) => `${JSON.stringify(e)}\n`).join(""));
  });
  vi.stubGlobal("fetch", fetch);
  expect((await fetchEvents("s", 0)).map((e) => e.seq)).toEqual([1, 2, 3, 4]);
});

it("fetches what stopped turns left half said, and reads no further than their ends", async () => {
  const script = new Script();
  const end = { usage: noUsage, cost_usd: 0, duration_ms: 1 };
  const stopped = { ...end, error: { code: "interrupted", kind: "interrupted", message: "stopped" } };
  script.add("turn.start", { prompt: [text("go")], origin: "user" });
  script.add("message.complete", { message_id: "m1", role: "assistant", blocks: [text("whole")] });
  script.add("message.delta", { message_id: "m2", index: 0, text: "half" });
  script.add("turn.error", stopped);
  script.add("turn.start", { prompt: [text("on")], origin: "user" });
  script.add("message.delta", { message_id: "m3", index: 0, text: "good" });
  script.add("message.complete", { message_id: "m3", role: "assistant", blocks: [text("good")] });
  script.add("turn.complete", { text: "good", ...end });
  let cancelled = 0;
  const fetch = vi.fn(async (path: string) => {
    const asked = new URL(path, "http://x").searchParams;
    const kinds = asked.get("kinds")?.split(",");
    const events = script.events.filter((e) => e.seq > Number(asked.get("after")) && (kinds ? kinds.includes(e.kind) : asked.get("deltas") === "1" || !e.kind.endsWith(".delta")));
    return new Response(new ReadableStream({
      start(out) {
        for (const e of events) out.enqueue(new TextEncoder().encode(`${JSON.stringify(e)}\n`));
        if (!kinds) out.close(); // the pieces never end
      },
      cancel() { cancelled++; },
    }));
  });
  vi.stubGlobal("fetch", fetch);
  expect((await fetchHistory("s", 0)).map((e) => e.seq)).toEqual([1, 2, 3, 4, 5, 7, 8]);
  expect(cancelled).toBe(1);
  expect(fetch.mock.calls.map((c) => c[0])).toEqual(["/v1/sessions/s/events?after=0&deltas=0", "/v1/sessions/s/events?after=2&deltas=1&kinds=message.delta,reasoning.delta"]);
});
