import { QueryClient } from "@tanstack/react-query";
import { expect, it } from "vitest";
import { keys } from "../api/keys";
import { noUsage, Script, session } from "../model/testing";
import { patchCache } from "./patch";

it("a session that is shown beside the list changes with its events, and no other one", () => {
  const client = new QueryClient();
  client.setQueryData(keys.sessions, { items: [session("listed")] });
  for (const id of ["s", "other"]) client.setQueryData(keys.session(id), session(id));
  const script = new Script().add("session.state", { state: "busy" }).add("session.updated", { title: "named" });
  patchCache(client, script.events);
  expect(client.getQueryData(keys.session("s"))).toMatchObject({ state: "busy", title: "named", last_seq: 2 });
  expect(client.getQueryData(keys.session("other"))).toEqual(session("other"));
  expect(client.getQueryState(keys.session("s"))?.isInvalidated).toBe(false);

  script.add("turn.complete", { text: "", usage: noUsage, cost_usd: 0, duration_ms: 1 });
  patchCache(client, script.events);
  expect(client.getQueryState(keys.session("s"))?.isInvalidated).toBe(true); // only the server knows what undo would do
  expect(client.getQueryState(keys.session("other"))?.isInvalidated).toBe(false);
});
