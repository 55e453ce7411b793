import { afterEach, expect, it, vi } from "vitest";
import { decode, type Entry, fetchEvents, readStream } from "./sse";

const event = (seq: number) => JSON.stringify({ seq, session: "s", kind: "notification", time: "", data: { text: "ä" } });

afterEach(() => vi.unstubAllGlobals());

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
    await readStream("/v1/events", { signal: new AbortController().signal, onOpen: () => {}, onEntries: (e) => got.push(...e), onCursor: (c) => started.push(c) });
    expect(got.map((e) => [e.cursor, e.event.seq, (e.event.data as { text: string }).text])).toEqual([["4", 4, "ä"], ["5", 5, "ä"]]);
    expect(fetch.mock.calls[0]![1].headers).toMatchObject({ Accept: "text/event-stream" });
    expect(started).toEqual(["3"]);
  }
});

it("skips what is not an event", async () => {
  expect(decode("{")).toBeNull();
  expect(decode("null")).toBeNull();
  expect(decode('{"kind":3}')).toBeNull();
  answer(new TextEncoder().encode(`${event(1)}\nrubbish\n\n${event(2)}\n`));
  expect((await fetchEvents("s", 0)).map((e) => e.seq)).toEqual([1, 2]);
});
