// @vitest-environment happy-dom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act } from "react";
import { createRoot } from "react-dom/client";
import { expect, it, vi } from "vitest";
import { keys } from "../api/keys";
import { session } from "../model/testing";
import { markEnded, useEnded } from "../stream/ended";
import { wordsOfEnd } from "./notifications";
import { Title } from "./Title";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

it("counts what ended in sessions that are there", async () => {
  vi.stubGlobal("fetch", () => new Promise(() => {}));
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(keys.sessions, { items: [session("a"), session("b")] });
  client.setQueryData(keys.requests, { items: [] });
  useEnded.setState({ sessions: { a: { at: "1", failed: "", text: "" }, deleted: { at: "1", failed: "", text: "" } } });
  const root = createRoot(document.createElement("div"));
  await act(async () => root.render(<QueryClientProvider client={client}><Title /></QueryClientProvider>));
  expect(document.title).toBe("✓ 1 · Terret");
  await act(async () => useEnded.setState({ sessions: { deleted: { at: "1", failed: "", text: "" } } }));
  expect(document.title).toBe("Terret");
  await act(async () => root.unmount());
  vi.unstubAllGlobals();
});

it("marks what changed while the page was closed, but no logs without an agent", () => {
  useEnded.setState({ sessions: {} });
  const since = "2026-01-01T00:00:00.000Z";
  const changed = { updated_at: "2026-01-02T00:00:00.000000Z", last_seq: 4 };
  markEnded([session("turn", changed), session("team", { ...changed, agent: "none" }), session("old", { last_seq: 4 }), session("busy", { ...changed, state: "busy" })], since);
  expect(Object.keys(useEnded.getState().sessions)).toEqual(["turn"]);
});

it("a notification shows what could deceive a reader", () => {
  const { title, body } = wordsOfEnd("Claude", session("s", { title: "cart" }), { at: "", failed: "", text: "all \u202egnp.exe" });
  expect([title, body]).toEqual(["Claude finished", "cart\nall \\u202egnp.exe"]);
});
