import { expect, it } from "vitest";
import { commandOf, whyFailed } from "./summary";
import type { ToolItem } from "./types";

const failed = (error: string, more: Partial<ToolItem> = {}) => ({ class: "execute", state: "failed", output: "", error, ...more }) as ToolItem;

it.each([
  ["building\n\nreal problem\n[exit code 3]", "exit code 3: real problem"],
  ["building\nreal problem\n[exit code 3]\n[all of the output, 90 bytes, is in /tmp/x]", "exit code 3: real problem"],
  ["[exit code 5]\nreal problem\n[exit code 3]", "exit code 3: real problem"],
  ["[exit code 1]", "exit code 1"],
  ["slow\n[timed out after 2m0s: the command and everything it started were ended]", "[timed out after 2m0s: the command and everything it started were ended]"],
  ["exit code 2: building\nreal problem\n", "exit code 2: real problem"], // Codex, OpenCode
  ["Exit code 127\nbuilding\nsh: nope: not found", "exit code 127: sh: nope: not found"], // Claude Code
  ["\u001b[31m 10 %\r\u001b[31m 100 %\r\nno space left\u001b[0m\n\n", "no space left"],
])("a failed command says how it ended: %j", (all, words) => {
  expect(whyFailed(failed(all))).toBe(words);
  expect(whyFailed(failed(all.split("\n")[0]!, { output: all }))).toBe(words); // native
});

it("a command whose error is only its code says its last words", () => {
  expect(whyFailed(failed("Exit code 1", { output: "a\nb\n" }))).toBe("exit code 1: b");
  expect(whyFailed(failed("", { output: "a\nb\n" }))).toBe("b");
  expect(whyFailed(failed("killed after 2 minutes", { output: "a\nb\n" }))).toBe("killed after 2 minutes");
});

it("other tools begin with the reason", () => {
  expect(whyFailed(failed("the text is not in the file\nfunc main() {", { class: "edit" }))).toBe("the text is not in the file");
});

it("shows the program of a command that is not a system's shell, and where its words end", () => {
  expect(commandOf({ command: ["/bin/bash", "-lc", "ls -l"] })).toBe("ls -l");
  expect(commandOf({ command: ["./sh", "-c", "ls"] })).toBe("./sh -c ls");
  expect(commandOf({ command: ["rm", "-rf", "a b"] })).toBe("rm -rf 'a b'");
});
