// @vitest-environment happy-dom
import { expect, it, vi } from "vitest";
import { Script } from "../model/testing";
import { ConversationStore, Conversations } from "./conversations";

const script = () => {
  const s = new Script();
  for (let i = 0; i < 6; i++) s.add("message.delta", { message_id: "m", index: 0, text: String(i) });
  return s.events;
};

const words = (store: ConversationStore) => {
  const item = store.snapshot().conversation.threads.get("root")![0];
  return item?.type === "text" ? item.text : "";
};

it("shows history, then live, without gap or duplicate", async () => {
  const all = script();
  const store = new ConversationStore("s", async () => all.slice(0, 3));
  store.subscribe(() => {});
  store.push(all.slice(1, 4)); // while the history is on its way
  await vi.waitFor(() => expect(words(store)).toBe("0123"));
  store.push(all.slice(3, 6));
  await vi.waitFor(() => expect(words(store)).toBe("012345"));
});

it("fills a gap by asking again", async () => {
  const all = script();
  const asked: number[] = [];
  const store = new ConversationStore("s", async (_, after) => {
    asked.push(after);
    return all.slice(after, after === 0 ? 2 : 6);
  });
  store.subscribe(() => {});
  await vi.waitFor(() => expect(words(store)).toBe("01"));
  store.push(all.slice(4, 5));
  await vi.waitFor(() => expect(words(store)).toBe("012345"));
  expect(asked).toEqual([0, 2]);
});

it("says what went wrong and tries again when asked to", async () => {
  let fail = true;
  const store = new ConversationStore("s", async () => {
    if (fail) throw new Error("no");
    return script();
  });
  store.subscribe(() => {});
  await vi.waitFor(() => expect(store.snapshot().error?.message).toBe("no"));
  fail = false;
  await store.catchUp();
  expect(store.snapshot()).toMatchObject({ loaded: true, error: null });
});

it("fetches anew, once the server is back, what somebody looks at and could not be fetched", async () => {
  const fetch = vi.fn(async (_path: string) => new Response(script().map((e) => JSON.stringify(e)).join("\n")));
  fetch.mockRejectedValueOnce(new TypeError("no network"));
  vi.stubGlobal("fetch", fetch);
  const open = new Conversations();
  const store = open.get("s");
  store.subscribe(() => {});
  await vi.waitFor(() => expect(store.snapshot().error).not.toBeNull());
  open.retry();
  await vi.waitFor(() => expect(store.snapshot()).toMatchObject({ loaded: true, error: null }));
  const asked = fetch.mock.calls.length;
  open.retry(); // nothing is missing now
  expect(fetch).toHaveBeenCalledTimes(asked);
  vi.unstubAllGlobals();
});

it("asks again when the stream opens while history is on its way: what came between is in neither", async () => {
  const all = script();
  const said = (events: typeof all) => new Response(events.map((e) => JSON.stringify(e)).join("\n"));
  let first: (answer: Response) => void = () => {};
  const early = new Promise<Response>((done) => (first = done));
  const fetch = vi.fn(async (path: string) => said(all.slice(Number(/after=(\d+)/.exec(path)![1])))).mockReturnValueOnce(early);
  vi.stubGlobal("fetch", fetch);
  const open = new Conversations();
  const store = open.get("s");
  store.subscribe(() => {});
  open.catchUp(); // the server has answered the first one already, but the page has not heard it
  first(said(all.slice(0, 2)));
  await vi.waitFor(() => expect(words(store)).toBe("012345"));
  vi.unstubAllGlobals();
});
