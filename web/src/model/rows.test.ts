import { expect, it } from "vitest";
import { findRows, rowsOf } from "./rows";
import { argument, describe, diffSize, groupTitle } from "./summary";
import { Script, text } from "./testing";

const read = (s: Script, id: string, file: string) =>
  s.add("tool.pre", { tool_id: id, name: "Read", class: "read", input: { file_path: file } })
    .add("tool.post", { tool_id: id, name: "Read", content: [text("body")], duration_ms: 1 });

it("collapses runs of reads, and only runs", () => {
  const s = new Script();
  read(s, "a", "/p/a");
  read(s, "b", "/p/b");
  s.add("message.complete", { message_id: "m", role: "assistant", blocks: [text("Now the third.")] });
  read(s, "c", "/p/c");
  const rows = rowsOf(s.items());
  expect(rows.map((r) => [r.type, r.key])).toEqual([["group", "g-a"], ["item", "root/m/0"], ["item", "c"]]);
  expect(rows[0]!.type === "group" && groupTitle(rows[0]!.tools)).toBe("Read 2 files");
  expect(findRows(rows, "THIRD")).toEqual([1]);
  expect(findRows(rows, "/p/b")).toEqual([0]);
  expect(findRows(rows, " ")).toEqual([]);
});

it("finds each match in what is said, and what folds once", () => {
  const s = new Script();
  s.add("message.complete", { message_id: "m", role: "assistant", blocks: [text("a.b, A.B and axb (really?)")] });
  read(s, "a", "/p/a.b/a.b");
  const rows = rowsOf(s.items());
  expect(findRows(rows, "a.b")).toEqual([0, 0, 1]);
  expect(findRows(rows, "(really?)")).toEqual([0]);
});

it("hides requests that a rule allowed, and shows those that were denied", () => {
  const s = new Script();
  for (const [id, behavior] of [["r1", "allow"], ["r2", "deny"]] as const) {
    s.add("permission.request", { request_id: id, tool: "Bash", class: "execute", input: {} })
      .add("permission.decision", { request_id: id, gate: "permission", behavior, source: "rule", rule: "Bash(*)" });
  }
  expect(rowsOf(s.items()).map((r) => r.key)).toEqual(["r2"]);
});

it("shows nothing where nobody had an opinion", () => {
  const s = new Script();
  s.add("stop.request", { request_id: "r", last_message: "Done." }).add("stop.decision", { request_id: "r", gate: "stop", behavior: "passthrough", source: "policy" });
  expect(rowsOf(s.items())).toEqual([]);
});

it("folds an answer into the row of its tool", () => {
  const s = new Script();
  s.add("tool.start", { tool_id: "t", name: "Bash", class: "execute", index: 0 })
    .add("permission.request", { request_id: "r", tool: "Bash", class: "execute", input: {}, tool_id: "t" });
  expect(rowsOf(s.items()).map((r) => r.key)).toEqual(["t", "r"]);
  s.add("permission.decision", { request_id: "r", gate: "permission", behavior: "deny", source: "user", reason: "no" });
  expect(rowsOf(s.items()).map((r) => r.key)).toEqual(["t"]);
});

it("does not count a person's time as the tool's, nor show tags for the model", () => {
  const s = new Script();
  s.add("tool.pre", { tool_id: "t", name: "Bash", class: "execute", input: { command: "ls", description: "List files." } })
    .add("permission.request", { request_id: "r", tool: "Bash", class: "execute", input: {}, tool_id: "t" })
    .add("permission.decision", { request_id: "r", gate: "permission", behavior: "allow", source: "user" })
    .add("tool.post", { tool_id: "t", name: "Bash", content: [text("<tool_use_error>No such file</tool_use_error>")], duration_ms: 1_500 });
  const tool = s.items()[0]!;
  expect(tool).toMatchObject({ type: "tool", waitedMs: 1_000, durationMs: 1_500, output: "No such file" });
  expect(tool.type === "tool" && describe(tool.input)).toBe("List files");
});

it("finds the argument that matters", () => {
  expect(argument({ command: "ls\n-l" }, "")).toBe("ls ⏎ -l");
  expect(argument({ file_path: "/p/src/a.go", content: "x" }, "/p")).toBe("src/a.go");
  expect(argument({ file_path: "/pp/a.go" }, "/p")).toBe("/pp/a.go");
  expect(argument({ cmd: ["go", "test"] }, "")).toBe("go test");
  expect(argument({ command: "\u001b[31mrm\u001b[0m \u202eevil" }, "")).toBe("rm \\u202eevil");
  expect(argument(null, "")).toBe("");
});

it("counts the lines of a diff", () => {
  expect(diffSize("--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n+b\n+c\n")).toEqual({ added: 2, removed: 1 });
});
