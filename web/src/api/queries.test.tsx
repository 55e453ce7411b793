// @vitest-environment happy-dom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, expect, it, vi } from "vitest";
import { Script, session } from "../model/testing";
import { keys } from "./keys";
import { hear } from "./meanwhile";
import { useHas, useOneSession, useRequests, useSessions } from "./queries";

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

it("what happens while lists are fetched is not lost to answers of before", async () => {
  const answers = new Map<string, (r: Response) => void>();
  vi.stubGlobal("fetch", (path: string) => new Promise<Response>((done) => answers.set(path, done)));
  const drawn: string[] = [];
  function Shown() {
    const [sessions, requests, one] = [useSessions().data?.items, useRequests().data?.items, useOneSession("old").session];
    drawn.push(`${sessions?.map((s) => s.state)} ${requests?.map((r) => r.request_id)} ${one?.title}`);
    return null;
  }
  await render(<Shown />);
  const script = new Script().add("session.state", { state: "waiting" }).add("permission.request", { request_id: "new" });
  script.add("permission.decision", { request_id: "gone", gate: "permission", behavior: "allow", source: "user" });
  hear(script.events);
  const gone = { request_id: "gone", session: "s", gate: "permission", data: { request_id: "gone" }, state: "open" };
  await act(async () => answers.get(list)!(Response.json({ items: [session("s")] })));
  await act(async () => answers.get("/v1/decisions?state=open&limit=500")!(Response.json({ items: [gone] })));
  await vi.waitFor(() => act(async () => expect(answers.has("/v1/sessions/old")).toBe(true)));
  hear(new Script().add("session.updated", { title: "renamed" }, { session: "old" }).events);
  await act(async () => answers.get("/v1/sessions/old")!(Response.json(session("old"))));
  await vi.waitFor(() => act(async () => expect(drawn.at(-1)).toBe("waiting new renamed")));
});

it.each([
  ["gone", {}, "there is no such session"],
  ["a log without an agent", { "/v1/sessions/x": session("x", { agent: "none" }) }, "none"],
])("%s is not there", async (_, there, words) => {
  serve({ [list]: { items: [] }, ...there });
  const { last } = await draw("x");
  await last(words);
});
