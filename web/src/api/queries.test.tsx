// @vitest-environment happy-dom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, expect, it, vi } from "vitest";
import { session } from "../model/testing";
import { keys } from "./keys";
import { useHas, useOneSession } from "./queries";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
afterEach(() => void vi.unstubAllGlobals());

/** Answers from what is there by path; the rest is not found. */
function serve(there: Record<string, unknown>) {
  const fetch = vi.fn(async (path: string) =>
    path in there ? Response.json(there[path]) : Response.json({ type: "not_found", detail: "there is no such session" }, { status: 404 }));
  vi.stubGlobal("fetch", fetch);
  return fetch;
}

async function render(what: ReactNode): Promise<QueryClient> {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: Infinity } } });
  const root = createRoot(document.createElement("div"));
  await act(async () => root.render(<QueryClientProvider client={client}>{what}</QueryClientProvider>));
  return client;
}

/** Draws what the hook says about a session; the titles are those that were drawn. */
async function draw(id: string) {
  const drawn: string[] = [];
  function Shown() {
    const { session, error, pending } = useOneSession(id);
    drawn.push(session?.title ?? (pending ? "…" : error?.message ?? "none"));
    return null;
  }
  const client = await render(<Shown />);
  return { client, drawn, last: (words: string) => vi.waitFor(() => act(async () => expect(drawn.at(-1)).toBe(words))) };
}

const list = "/v1/sessions?limit=500";

it("what agents can do is known before all their programs have answered, and then from them", async () => {
  const probe = (ok: boolean) => ({ items: [{ agent: "claude", capabilities: { steer: { ok } } }] });
  let answer: (r: Response) => void = () => {};
  vi.stubGlobal("fetch", (path: string) => (path === "/v1/agents" ? new Promise((done) => (answer = done)) : Promise.resolve(Response.json(path === "/v1/agents?probe=0" ? probe(true) : {}))));
  const drawn: boolean[] = [];
  function Steer() {
    drawn.push(useHas("claude")("steer"));
    return null;
  }
  await render(<Steer />);
  await vi.waitFor(() => act(async () => expect(drawn.at(-1)).toBe(true)));
  await act(async () => answer(Response.json(probe(false))));
  await vi.waitFor(() => act(async () => expect(drawn.at(-1)).toBe(false)));
});

it("a session of the list is not fetched by itself", async () => {
  const fetch = serve({ [list]: { items: [session("a")] } });
  const { last } = await draw("a");
  await last("a");
  expect(fetch.mock.calls.map(([path]) => path)).toEqual([list]);
});

it("one beyond the end of the list is", async () => {
  serve({ [list]: { items: [session("a")] }, "/v1/sessions/old": session("old") });
  const { last } = await draw("old");
  await last("old");
});

it("one that others push off the list is shown on while it is fetched", async () => {
  serve({ [list]: { items: [session("s")] }, "/v1/sessions/s": session("s", { title: "fetched" }) });
  const { client, drawn, last } = await draw("s");
  await last("s");
  await act(async () => client.setQueryData(keys.sessions, { items: [session("newer")] }));
  await last("fetched");
  expect(new Set(drawn)).toEqual(new Set(["…", "s", "fetched"]));
  expect(drawn.lastIndexOf("…")).toBeLessThan(drawn.indexOf("s"));
});

it.each([
  ["gone", {}, "there is no such session"],
  ["a log without an agent", { "/v1/sessions/x": session("x", { agent: "none" }) }, "none"],
])("%s is not there", async (_, there, words) => {
  serve({ [list]: { items: [] }, ...there });
  const { last } = await draw("x");
  await last(words);
});
