// @vitest-environment happy-dom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, expect, it, vi } from "vitest";
import { session } from "../model/testing";
import { keys } from "./keys";
import { useOneSession } from "./queries";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
afterEach(() => void vi.unstubAllGlobals());

/** Answers from what is there by path; the rest is not found. */
function serve(there: Record<string, unknown>) {
  const fetch = vi.fn(async (path: string) =>
    path in there ? Response.json(there[path]) : Response.json({ type: "not_found", detail: "there is no such session" }, { status: 404 }));
  vi.stubGlobal("fetch", fetch);
  return fetch;
}

/** Draws what the hook says about a session; the titles are those that were drawn. */
async function draw(id: string) {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: Infinity } } });
  const drawn: string[] = [];
  function Shown() {
    const { session, error, pending } = useOneSession(id);
    drawn.push(session?.title ?? (pending ? "…" : error?.message ?? "none"));
    return null;
  }
  const root = createRoot(document.createElement("div"));
  await act(async () => root.render(<QueryClientProvider client={client}><Shown /></QueryClientProvider>));
  return { client, drawn, last: (words: string) => vi.waitFor(() => act(async () => expect(drawn.at(-1)).toBe(words))) };
}

const list = "/v1/sessions?limit=500";

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
