import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Event, EventOf } from "../api/types";
import { outputLimit } from "./messages";
import { reduce } from "./reduce";
import { findRows, rowsOf } from "./rows";
import { noUsage, Script, text } from "./testing";
import { emptyConversation, type ToolItem } from "./types";

const brief = (s: Script, actor?: string) =>
  s.items(actor).map((i) => (i.type === "text" || i.type === "thinking" ? `${i.type}:${i.text}` : `${i.type}:${i.key}`));

const tool = (s: Script, id: string) => {
  const place = s.conversation().places.get(id)!;
  return s.items(place.actor)[place.at] as ToolItem;
};

describe("messages", () => {
  it("joins pieces, and the whole message replaces them", () => {
    const s = new Script()
      .add("message.delta", { message_id: "m", index: 0, text: "Hel" })
      .add("message.delta", { message_id: "m", index: 0, text: "lo" });
    expect(s.items()[0]).toMatchObject({ type: "text", text: "Hello", streaming: true });
    s.add("message.complete", { message_id: "m", role: "assistant", blocks: [text("Hello, world")] });
    expect(s.items()).toHaveLength(1);
    expect(s.items()[0]).toMatchObject({ text: "Hello, world", streaming: false });
    s.add("message.delta", { message_id: "m", index: 0, text: "!" });
    expect(s.items()[0]).toMatchObject({ text: "Hello, world" });
  });

  it("shows what the harness warns of", () => {
    const s = new Script().add("diag.warning", { text: "this turn cannot be undone" });
    expect(s.items()).toMatchObject([{ type: "notice", level: "warning", text: "This turn cannot be undone" }]);
  });

  it("drops what turns out not to be for people", () => {
    const s = new Script()
      .add("message.complete", { message_id: "a", role: "assistant", blocks: [text("API Error: 500")] }, { visibility: "internal" })
      .add("message.delta", { message_id: "b", index: 0, text: "(no cont" })
      .add("message.complete", { message_id: "b", role: "assistant", blocks: [text("(no content)")] }, { visibility: "internal" });
    expect(rowsOf(s.items())).toEqual([]);
    expect(rowsOf(s.stepwise().threads.get("root")!)).toEqual([]);
  });

  // What the driver of Claude Code makes of failed turns of the real program.
  it.each(["api_400", "api_500_exhausted", "api_429_exhausted", "api_connection_refused"])("says once why a turn failed: %s", (name) => {
    const lines = readFileSync(`../driver/claude/testdata/golden/${name}.ndjson`, "utf8").trim().split("\n");
    const events = lines.map((line, i) => ({ seq: i + 1, session: "s", time: "", actor: "root", turn: "t", ...JSON.parse(line) }) as Event);
    const why = events.flatMap((e) => (e.kind === "turn.error" ? (e as EventOf<"turn.error">).data.error.message : []))[0]!;
    expect(why).toContain("API Error");
    const rows = rowsOf(reduce(emptyConversation, events).threads.get("root")!);
    expect(findRows(rows, why)).toEqual([rows.length - 1]);
    expect(rows.at(-1)).toMatchObject({ item: { type: "turn-end" } });
  });

  it("keeps thinking apart", () => {
    const s = new Script()
      .add("reasoning.delta", { message_id: "m", index: 0, text: "hmm" })
      .add("message.delta", { message_id: "m", index: 1, text: "Yes" })
      .add("message.complete", { message_id: "m", role: "assistant", blocks: [{ type: "thinking", text: "hmm" }, text("Yes")] });
    expect(brief(s)).toEqual(["thinking:hmm", "text:Yes"]);
  });

  it("shows once what an agent counts otherwise in pieces than in the whole message", () => {
    const s = new Script()
      .add("reasoning.delta", { message_id: "m", index: 1, text: "hm" })
      .add("message.delta", { message_id: "m", index: 2, text: "Ye" })
      .add("message.delta", { message_id: "m", index: 3, text: "N" })
      .add("message.complete", { message_id: "m", role: "assistant", blocks: [{ type: "thinking", text: "hmm" }, text("Yes"), text("No")] });
    expect(brief(s)).toEqual(["thinking:hmm", "text:Yes", "text:No"]);
    expect(s.items().map((i) => "streaming" in i && i.streaming)).toEqual([false, false, false]);
    expect(s.stepwise().threads.get("root")).toEqual(s.items());
  });

  it("puts text before the tool that follows it, also when its pieces were dropped", () => {
    const s = new Script()
      .add("tool.start", { tool_id: "t", name: "Bash", class: "execute", message_id: "m", index: 1 })
      .add("message.complete", {
        message_id: "m", role: "assistant", blocks: [text("I run it."), { type: "tool_use", tool_id: "t", name: "Bash", input: {} }],
      });
    expect(brief(s)).toEqual(["text:I run it.", "tool:t"]);
    expect(s.conversation().places.get("t")).toEqual({ actor: "root", at: 1 });
  });

  it("shows no empty text", () => {
    const s = new Script().add("message.complete", { message_id: "m", role: "assistant", blocks: [text(" \n")] });
    expect(s.items()).toEqual([]);
  });

  it("shows a prompt once, and steering as a message of its own", () => {
    const s = new Script()
      .add("turn.start", { prompt: [text("go")], message_id: "u1", origin: "user" }, { by: "ann" })
      .add("user.prompt", { message_id: "u1", blocks: [text("go")] })
      .add("user.prompt", { message_id: "u2", blocks: [text("faster")] });
    expect(s.items().map((i) => [i.type, i.key])).toEqual([["user", "u1"], ["user", "u2"]]);
    expect(s.items()[0]).toMatchObject({ by: "ann", origin: "user" });
    expect(s.items()[1]).toMatchObject({ origin: "steer" });
  });

  it("takes a prompt that comes with the agent's own turn for one of a person", () => {
    const s = new Script()
      .add("turn.start", { prompt: [], origin: "background" })
      .add("user.prompt", { message_id: "u1", blocks: [text("go")] })
      .add("user.prompt", { message_id: "u2", blocks: [text("faster")] });
    expect(s.items()).toMatchObject([{ origin: "user" }, { origin: "steer" }]);
  });
});

describe("tools", () => {
  it("goes from the call through its output to the result", () => {
    const s = new Script()
      .add("tool.start", { tool_id: "t", name: "Bash", class: "execute", index: 0 })
      .add("tool.delta", { tool_id: "t", partial_input: '{"comm' });
    expect(tool(s, "t")).toMatchObject({ state: "writing", partialInput: '{"comm' });
    s.add("tool.pre", { tool_id: "t", name: "Bash", class: "execute", input: { command: "ls" }, title: "Run ls" })
      .add("tool.progress", { tool_id: "t", text: "a\n", elapsed_ms: 5 })
      .add("tool.progress", { tool_id: "t", text: "b\n", elapsed_ms: 9 });
    expect(tool(s, "t")).toMatchObject({ state: "running", output: "a\nb\n", input: { command: "ls" } });
    s.add("tool.post", { tool_id: "t", name: "Bash", content: [text("a\nb\nc\n")], duration_ms: 12, diff: "d" });
    expect(tool(s, "t")).toMatchObject({ state: "done", output: "a\nb\nc\n", durationMs: 12, diff: "d" });
  });

  it.each([
    [{ denied: true }, "denied"],
    [{ interrupted: true }, "interrupted"],
    [{}, "failed"],
  ])("ends a failure %j as %s", (flags, state) => {
    const s = new Script()
      .add("tool.pre", { tool_id: "t", name: "Bash", class: "execute", input: {} })
      .add("tool.failure", { tool_id: "t", name: "Bash", error: "no", duration_ms: 1, ...flags });
    expect(tool(s, "t")).toMatchObject({ state, error: "no" });
  });

  it("takes a result that comes only in a message", () => {
    const s = new Script()
      .add("message.complete", { message_id: "m", role: "assistant", blocks: [{ type: "tool_use", tool_id: "t", name: "X", input: 1 }] })
      .add("message.complete", { message_id: "r", role: "tool", blocks: [{ type: "tool_result", tool_id: "t", content: [text("out")] }] });
    expect(tool(s, "t")).toMatchObject({ state: "done", output: "out", input: 1 });
  });

  it("keeps only the end of endless output", () => {
    const s = new Script().add("tool.pre", { tool_id: "t", name: "Bash", class: "execute", input: {} });
    for (let i = 0; i < 3; i++) s.add("tool.progress", { tool_id: "t", text: `${i}`.repeat(outputLimit / 2) });
    expect(tool(s, "t").output).toHaveLength(outputLimit);
    expect(tool(s, "t").output.endsWith("2")).toBe(true);
  });

  it("leaves nothing running when the turn ends", () => {
    const s = new Script()
      .add("tool.pre", { tool_id: "t", name: "Bash", class: "execute", input: {} })
      .add("message.delta", { message_id: "m", index: 0, text: "and" })
      .add("turn.error", { error: { kind: "killed", message: "killed" }, usage: noUsage, cost_usd: 0, duration_ms: 1 });
    expect(tool(s, "t").state).toBe("interrupted");
    expect(s.items()[1]).toMatchObject({ streaming: false });
    expect(s.items()[2]).toMatchObject({ type: "turn-end", error: { kind: "killed" } });
  });
});

describe("subagents", () => {
  it("nests what they do in a thread of their own", () => {
    const sub = { actor: "sub:1", parent_tool: "t" };
    const s = new Script()
      .add("tool.pre", { tool_id: "t", name: "Task", class: "agent", input: {} })
      .add("subagent.start", { id: "1", type: "explore", description: "look" }, { parent_tool: "t" })
      .add("message.complete", { message_id: "m", role: "assistant", blocks: [text("found")] }, sub)
      .add("tool.pre", { tool_id: "u", name: "Read", class: "read", input: {} }, sub)
      .add("subagent.stop", { id: "1", result: "done" });
    expect(brief(s)).toEqual(["tool:t", "subagent:sub:1"]);
    expect(brief(s, "sub:1")).toEqual(["text:found", "tool:u"]);
    expect(s.items()[1]).toMatchObject({ running: false, result: "done", name: "explore" });
  });

  it("hangs in the thread of its parent", () => {
    const s = new Script()
      .add("subagent.start", { id: "1" })
      .add("tool.pre", { tool_id: "t", name: "Task", class: "agent", input: {} }, { actor: "sub:1" })
      .add("subagent.start", { id: "2" }, { actor: "sub:2", parent_tool: "t" });
    expect(brief(s, "sub:1")).toEqual(["tool:t", "subagent:sub:2"]);
  });
});

describe("requests", () => {
  const ask = () =>
    new Script()
      .add("tool.pre", { tool_id: "t", name: "Bash", class: "execute", input: {} })
      .add("permission.request", { request_id: "r", tool_id: "t", tool: "Bash", class: "execute", input: {}, title: "Run" },
        { expects: { request_id: "r", gate: "permission", fallback: "deny", expires_at: "2026-01-01T00:05:00Z" } });

  it("is open until it is decided, wherever that was", () => {
    const s = ask();
    expect([...s.conversation().open.keys()]).toEqual(["r"]);
    expect(tool(s, "t").requestId).toBe("r");
    s.add("permission.decision", { request_id: "r", gate: "permission", behavior: "allow", source: "user", by: "bob" });
    const c = s.conversation();
    expect(c.open.size).toBe(0);
    expect(s.items()[1]).toMatchObject({ request: { state: "decided", decision: { by: "bob" }, expires_at: "2026-01-01T00:05:00Z" } });
  });

  it("takes a decision for a request it never saw", () => {
    const s = new Script().add("hook.decision", { request_id: "x", gate: "trust", behavior: "deny", source: "policy" });
    expect(s.conversation().decisions.get("x")?.behavior).toBe("deny");
  });
});

describe("session", () => {
  it("follows state, plan, usage, files and what was undone", () => {
    const s = new Script();
    s.turn = "t1";
    s.add("session.state", { state: "busy" })
      .add("session.start", { source: "new", agent: "native", agent_version: "1", model: "demo", tools: ["Bash"], cwd: "/p" })
      .add("plan.update", { entries: [{ text: "a", status: "completed" }] })
      .add("usage.update", { ...noUsage, input: 3, cost_usd: 0.5, context_used: 10, context_max: 100 })
      .add("file.changed", { path: "/p/a", change: "created" })
      .add("checkpoint.created", { checkpoint_id: "c", of_turn: "t1", phase: "after", changed: true })
      .add("checkpoint.rewound", { checkpoint_id: "c", files: ["a"], insertions: 0, deletions: 1, direction: "undo", turns: ["t1"] });
    const c = s.conversation();
    expect(c).toMatchObject({ state: "busy", info: { agent: "native", model: "demo" }, usage: { cost_usd: 0.5 } });
    expect(c.plan).toHaveLength(1);
    expect([...c.files]).toEqual([["/p/a", "created"]]);
    expect([...c.changed]).toEqual(["t1"]);
    expect([...c.undone]).toEqual(["t1"]);
    s.add("checkpoint.rewound", { checkpoint_id: "c", files: null, insertions: 1, deletions: 0, direction: "redo", turns: ["t1"] });
    expect(s.conversation().undone.size).toBe(0);
  });
});

describe("reduce", () => {
  const story = () => {
    const s = new Script();
    s.turn = "t1";
    return s
      .add("turn.start", { prompt: [text("go")], message_id: "u", origin: "user" })
      .add("message.delta", { message_id: "m", index: 0, text: "Look" })
      .add("tool.start", { tool_id: "t", name: "Read", class: "read", message_id: "m", index: 1 })
      .add("message.complete", { message_id: "m", role: "assistant", blocks: [text("Looking"), { type: "tool_use", tool_id: "t", name: "Read", input: {} }] })
      .add("tool.pre", { tool_id: "t", name: "Read", class: "read", input: {} })
      .add("tool.post", { tool_id: "t", name: "Read", content: [], duration_ms: 1 })
      .add("turn.complete", { text: "ok", usage: noUsage, cost_usd: 0, duration_ms: 2 });
  };

  it("is the same at once and step by step", () => {
    expect(story().stepwise()).toEqual(story().conversation());
  });

  it("applies nothing twice", () => {
    const once = story().conversation();
    expect(reduce(once, story().events)).toBe(once);
  });

  it("changes nothing of what it was given", () => {
    const s = story();
    const before = reduce(emptyConversation, s.events.slice(0, 4));
    const copy = structuredClone({ threads: before.threads, places: before.places });
    const after = reduce(before, s.events);
    expect({ threads: before.threads, places: before.places }).toEqual(copy);
    expect(after.threads.get("root")![0]).toBe(before.threads.get("root")![0]);
  });

  it("ignores kinds that it does not know", () => {
    const odd = { ...story().events[0]!, kind: "news.from.tomorrow", data: 7 };
    expect(reduce(emptyConversation, [odd]).threads.get("root")).toEqual([]);
  });

  it("takes ten thousand events", () => {
    const s = new Script();
    for (let i = 0; i < 2500; i++) {
      s.add("message.delta", { message_id: `m${i}`, index: 0, text: "x" })
        .add("tool.start", { tool_id: `t${i}`, name: "Read", class: "read", message_id: `m${i}`, index: 1 })
        .add("message.complete", { message_id: `m${i}`, role: "assistant", blocks: [text("x"), { type: "tool_use", tool_id: `t${i}`, name: "Read", input: {} }] })
        .add("tool.post", { tool_id: `t${i}`, name: "Read", content: [], duration_ms: 1 });
    }
    expect(s.items()).toHaveLength(5000);
  });
});

it("says why a tool failed without the tags that are meant for the model", () => {
  for (const error of ["<tool_use_error>File has not been read yet.</tool_use_error>", "<tool_use_error>File has not been read yet."]) {
    const s = new Script()
      .add("tool.pre", { tool_id: "t", name: "Write", class: "edit", input: {} })
      .add("tool.failure", { tool_id: "t", name: "Write", error });
    expect(tool(s, "t").error).toBe("File has not been read yet.");
  }
});
