import { expect, it } from "vitest";
import { dotOf, folderName, groupByFolder, patchRequests, patchSessions } from "./lists";
import { noUsage, Script, session } from "./testing";

it("keeps the list in step, newest first", () => {
  const s = new Script()
    .add("session.state", { state: "busy" }, { session: "b" })
    .add("session.updated", { title: "named" }, { session: "b" })
    .add("permission.request", { request_id: "r" }, { session: "b" });
  const { list, fresh } = patchSessions([session("a"), session("b")], s.events);
  expect(list.map((x) => x.id)).toEqual(["b", "a"]);
  expect(list[0]).toMatchObject({ state: "busy", title: "named", open_requests: 1, last_seq: 3 });
  expect(fresh).toBe(false);
  expect(patchSessions(list, s.events).list[0]).toMatchObject({ open_requests: 1 });
  expect(patchSessions([session("a")], s.events).fresh).toBe(true);
});

it("a request that waits is counted while other tools pass their hooks", () => {
  const s = new Script()
    .add("permission.request", { request_id: "r" })
    .add("tool.pre", { tool_id: "t", name: "Read", class: "read", input: {} }, { expects: { request_id: "h", gate: "pre_tool", fallback: "allow" } })
    .add("hook.decision", { request_id: "h", gate: "pre_tool", behavior: "allow", source: "policy" });
  expect(patchSessions([session("s")], s.events).list[0]).toMatchObject({ open_requests: 1 });
  s.add("permission.decision", { request_id: "r", gate: "permission", behavior: "allow", source: "user" });
  expect(patchSessions([session("s")], s.events).list[0]).toMatchObject({ open_requests: 0 });
});

it("a restart and an agent that ends leave the list as it is", () => {
  const s = new Script().add("session.resumed" as never, {} as never, { session: "b" }).add("session.end", { reason: "idle" }, { session: "b" });
  expect(patchSessions([session("a"), session("b")], s.events).list.map((x) => [x.id, x.updated_at])).toEqual([["a", "2025-01-01T00:00:00Z"], ["b", "2025-01-01T00:00:00Z"]]);
});

it("pieces of text leave the list, and what is drawn from it, alone", () => {
  const s = new Script().add("message.delta", { message_id: "m", index: 0, text: "word" }, { session: "b" });
  const before = [session("a"), session("b")];
  expect(patchSessions(before, s.events).list).toBe(before);
  s.add("session.state", { state: "busy" }, { session: "b" });
  const { list } = patchSessions(before, s.events);
  expect(list.map((x) => [x.id, x.last_seq])).toEqual([["b", 2], ["a", 0]]);
  expect(list[1]).toBe(before[0]);
});

it("asks for a session that the list lacks only when that can bring it in", () => {
  const fresh = (kind: string, data: unknown) => patchSessions([session("a")], new Script().add(kind as never, data as never, { session: "old" }).events).fresh;
  expect(fresh("message.delta", { message_id: "m", index: 0, text: "word" })).toBe(false);
  expect(fresh("session.end", { reason: "idle" })).toBe(false);
  expect(fresh("message.complete", { message_id: "m", role: "assistant", blocks: [] })).toBe(true);
  expect(fresh("turn.complete", { text: "", usage: noUsage, cost_usd: 0, duration_ms: 1 })).toBe(true);
  // What the list has is fetched again when its agent ends.
  expect(patchSessions([session("a")], new Script().add("session.end", { reason: "idle" }, { session: "a" }).events).fresh).toBe(true);
});

it("keeps open requests until they are decided", () => {
  const s = new Script().add("question.request", { request_id: "q", questions: [] }).add("permission.request", { request_id: "p" });
  const open = patchRequests([], s.events);
  expect(open.map((r) => [r.request_id, r.gate])).toEqual([["q", "question"], ["p", "permission"]]);
  expect(patchRequests(open, s.events)).toBe(open);
  s.add("question.decision", { request_id: "q", gate: "question", behavior: "reject", source: "user" });
  expect(patchRequests(open, s.events).map((r) => r.request_id)).toEqual(["p"]);
});

it("groups by folder, and amber means that a person is needed", () => {
  expect(groupByFolder([session("a"), session("b", { cwd: "/q" }), session("c")]).map((g) => [g.cwd, g.sessions.length])).toEqual([["/p", 2], ["/q", 1]]);
  expect(dotOf(session("a", { state: "busy", open_requests: 1 }))).toBe("needs");
  expect(dotOf(session("a", { state: "retrying" }))).toBe("busy");
  expect(dotOf(session("a", { state: "failed" }))).toBe("failed");
  expect(dotOf(session("a", { state: "closed" }))).toBe("idle");
});

it("puts worktrees into the folder that they are copies of, and tells folders of the same name apart", () => {
  const copy = { options: { worktree: true } };
  const groups = groupByFolder([session("w", { cwd: "/home/worktrees/1/api", ...copy }), session("a", { cwd: "/work/api" }), session("v", { cwd: "/home/worktrees/2/lib", ...copy }), session("u", { cwd: "/home/worktrees/3/lib", ...copy })]);
  expect(groups.map((g) => [g.cwd, g.sessions.map((s) => s.id)])).toEqual([["/work/api", ["w", "a"]], ["/home/worktrees/2/lib", ["v", "u"]]]);
  expect(folderName("/work/api", ["/work/api", "/other/api", "/work/lib"])).toBe("work/api");
  expect(folderName("/work/lib", ["/work/api", "/work/lib"])).toBe("lib");
});
