import { expect, it } from "vitest";
import { foldAct, wordsOf } from "./act";
import { noUsage, Script } from "./testing";
import { noAct } from "./types";

const words = (s: Script) => wordsOf(s.events.reduce(foldAct, noAct));

it("does not quote what is not for people", () => {
  const s = new Script().add("turn.start", { prompt: [], origin: "user" });
  s.add("message.complete", { message_id: "m", role: "assistant", blocks: [{ type: "text", text: "I look." }] });
  s.add("message.complete", { message_id: "n", role: "assistant", blocks: [{ type: "text", text: "(no content)" }] }, { visibility: "internal" });
  expect(s.events.reduce(foldAct, noAct)).toMatchObject({ said: "I look.", text: "thinking" });
});

it("says what the agent does, from its last event", () => {
  const s = new Script().add("turn.start", { prompt: [], origin: "user" });
  expect(words(s)).toBe("starting");
  s.add("session.state", { state: "busy" });
  expect(words(s)).toBe("thinking");
  s.add("message.delta", { message_id: "m", index: 0, text: "Hi" });
  expect(words(s)).toBe("writing");
  s.add("tool.pre", { tool_id: "1", name: "Bash", class: "execute", input: { command: "go test ./..." } });
  s.add("tool.pre", { tool_id: "2", name: "Edit", class: "edit", input: { file_path: "/p/auth/cart.go" } });
  expect(words(s)).toBe("editing cart.go");
  s.add("tool.post", { tool_id: "2", name: "Edit" });
  expect(words(s)).toBe("running go test ./...");
  s.add("permission.request", { request_id: "r" });
  expect(words(s)).toBe("waiting for your answer");
  s.add("permission.decision", { request_id: "r", gate: "permission", behavior: "allow", source: "user" });
  s.add("tool.failure", { tool_id: "1", name: "Bash", error: "no" });
  expect(words(s)).toBe("thinking");
  s.add("turn.complete", { text: "", usage: noUsage, cost_usd: 0, duration_ms: 1 });
  expect(s.events.reduce(foldAct, noAct)).toBe(noAct);
});
