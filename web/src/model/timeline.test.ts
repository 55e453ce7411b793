import { expect, it } from "vitest";
import { noUsage, Script, text } from "./testing";
import { timeline } from "./timeline";

it("draws turns, tools and waits where they were", () => {
  const s = new Script();
  s.turn = "t1";
  s.add("turn.start", { prompt: [text("fix it")], message_id: "m1", origin: "user" }) // 12:00:01
    .add("tool.pre", { tool_id: "a", name: "Bash", class: "execute", input: { command: "go test" } }) // :02
    .add("permission.request", { request_id: "r", tool_id: "a" }) // :03
    .add("permission.decision", { request_id: "r", gate: "permission", behavior: "allow", source: "user" }) // :04
    .add("tool.failure", { tool_id: "a", name: "Bash", error: "no", duration_ms: 3_000 }) // :05
    .add("turn.complete", { text: "", usage: noUsage, cost_usd: 0.2, duration_ms: 5_000 }); // :06
  const [line] = timeline(s.conversation(), 0);
  expect(line).toMatchObject({ key: "m1", title: "fix it", ms: 5_000, running: false, tools: 1, waited: 1_000, costUsd: 0.2, failed: false, undone: false });
  expect(line!.bars).toEqual([
    { key: "a", kind: "execute", bad: true, from: 1_000, to: 4_000, title: "Bash go test" },
    { key: "r", kind: "wait", bad: false, from: 2_000, to: 3_000, title: "Waited for your answer" },
  ]);
});

it.each(["rule", "policy"] as const)("what a %s decided waited for nobody", (source) => {
  const s = new Script();
  s.turn = "t1";
  s.add("turn.start", { prompt: [text("fix it")], message_id: "m1", origin: "user" })
    .add("permission.request", { request_id: "r" })
    .add("permission.decision", { request_id: "r", gate: "permission", behavior: "allow", source })
    .add("turn.complete", { text: "", usage: noUsage, cost_usd: 0, duration_ms: 5_000 });
  expect(timeline(s.conversation(), 0)[0]).toMatchObject({ waited: 0, bars: [] });
});

it("a turn that runs goes on until now", () => {
  const s = new Script();
  s.turn = "t1";
  s.add("turn.start", { prompt: [text("go")], origin: "user" });
  expect(timeline(s.conversation(), Date.UTC(2026, 0, 1, 12, 0, 11))[0]).toMatchObject({ running: true, ms: 10_000, bars: [] });
});
