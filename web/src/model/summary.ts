// A tool call in one line: the tool and the one argument that matters.

import type { Request } from "../api/types";
import { baseName, relative } from "../lib/format";
import { safeName, withoutAnsi } from "../lib/safe";
import type { ToolItem } from "./types";

const telling = [
  "file_path", "path", "filePath", "notebook_path", "pattern", "query", "url", "description", "question", "prompt", "name",
];

/** The argument that tells most, in one line. */
export function argument(input: unknown, cwd: string): string {
  if (typeof input === "string") return line(input);
  if (!input || typeof input !== "object") return "";
  const fields = input as Record<string, unknown>;
  const command = commandOf(input);
  if (command) return line(command);
  for (const name of telling) {
    const value = fields[name];
    if (typeof value === "string" && value) return line(/path/i.test(name) ? relative(value, cwd) : value);
    if (Array.isArray(value) && value.every((v) => typeof v === "string")) return line(value.join(" "));
  }
  const first = Object.values(fields).find((v) => typeof v === "string" && v);
  return typeof first === "string" ? line(firstLine(first)) : "";
}

/** The first line with words, without marks of Markdown. */
const firstLine = (text: string) => (text.split("\n").find((l) => /[\p{L}\p{N}]/u.test(l)) ?? text).replace(/^\s*(?:#+|[-*>])\s+/, "");

/** The files that a tool is given, by whatever name. */
export function pathsOf(input: unknown, known: readonly string[] = []): string[] {
  const fields = input && typeof input === "object" ? (input as Record<string, unknown>) : {};
  return [...known, ...Object.entries(fields).flatMap(([name, value]) => (/path/i.test(name) && typeof value === "string" ? [value] : []))];
}

function line(s: string): string {
  const flat = withoutAnsi(s).replace(/\s*\n\s*/g, " ⏎ ").trim();
  return safeName(flat.length > 300 ? `${flat.slice(0, 299)}…` : flat);
}

/** The field in which an agent names a command; agents differ. Empty if there is none. */
export function commandField(input: unknown): "command" | "cmd" | "" {
  const fields = (input ?? {}) as Record<string, unknown>;
  return (["command", "cmd"] as const).find((name) => commandIn(fields[name])) ?? "";
}

/** The command that a tool is to run: as written, or what a list of words hands to a shell. */
export function commandOf(input: unknown): string {
  const field = commandField(input);
  return field && commandIn((input as Record<string, unknown>)[field]);
}

function commandIn(value: unknown): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value) || value.length === 0 || !value.every((v) => typeof v === "string")) return "";
  const [program = "", flag = "", script = ""] = value as string[];
  const isShell = /^(?:\/(?:usr\/)?(?:local\/)?bin\/)?(?:ba|z|da|k)?sh$/.test(program); // none from a folder of its own
  return value.length === 3 && isShell && /^-l?c$/.test(flag) ? script : (value as string[]).map(word).join(" ");
}

/** A word as a shell would need it, so that it is seen where it begins and ends. */
const word = (w: string) => (/^[\w@%+=:,./-]+$/.test(w) ? w : `'${w.replaceAll("'", "'\\''")}'`);

/** What people call a tool: agents have many names for running a command. */
export const toolName = (tool: Pick<ToolItem, "name" | "class" | "input">): string =>
  tool.class === "execute" && commandOf(tool.input) && !/^[A-Z]\w*$/.test(tool.name) ? "Run" : safeName(tool.name);

/** The agent's own words for what a command does. */
export function describe(input: unknown): string {
  const { description } = (input ?? {}) as { description?: unknown };
  return commandOf(input) && typeof description === "string" ? line(description).replace(/\.$/, "") : "";
}

/** The request with which a call waits for a person. */
export function waitsFor(tool: ToolItem, open: ReadonlyMap<string, Request>): Request | undefined {
  return [...open.values()].find(({ data }) => data.tool_id === tool.key);
}

/** What became of the call, in a word; asked is the request with which it waits. */
export function outcome(tool: ToolItem, asked?: Request): string {
  switch (tool.state) {
    case "writing":
      return "";
    case "running":
      return !asked ? "running" : asked.gate === "permission" ? "needs approval" : "waiting for you";
    case "denied":
      return "denied";
    case "interrupted":
      return "stopped";
    case "failed":
      return "failed";
    case "done": {
      if (tool.diff) {
        const { added, removed } = diffSize(tool.diff);
        return `+${added} −${removed}`;
      }
      return "";
    }
  }
}

/** How agents tell the exit code: before the output, or after it, with other remarks. */
const exits = [/^exit code (\d+)(:|\n|$)/i, /(?:^|\n)\[exit code (\d+)\](\n\[[^\n]*\])*$/];

/** Why a call failed, in a line: of a command its exit code, if it says one, and its last words. */
export function whyFailed(tool: ToolItem): string {
  const [error, output] = [tool.error ?? "", tool.output].map((t) => withoutAnsi(t).trim()) as [string, string];
  if (tool.class !== "execute") return safeName(linesOf(error || output)[0] ?? "");
  const text = output.includes(error) ? output : error; // it may be only how the output begins
  const told = exits.find((e) => e.test(text));
  const last = (t: string) => linesOf(told ? t.replace(told, "") : t).at(-1);
  return safeName([told && `exit code ${told.exec(text)![1]}`, last(text) ?? last(output)].filter(Boolean).join(": "));
}

const linesOf = (text: string) => text.split(/[\r\n]+/).map((l) => l.trim()).filter(Boolean);

export function diffSize(diff: string): { added: number; removed: number } {
  let added = 0;
  let removed = 0;
  for (const l of diff.split("\n")) {
    if (l.startsWith("+") && !l.startsWith("+++ ")) added++;
    else if (l.startsWith("-") && !l.startsWith("--- ")) removed++;
  }
  return { added, removed };
}

/** The words for several calls that only look at things. */
export function groupTitle(tools: readonly ToolItem[]): string {
  const reads = tools.filter((t) => t.class === "read");
  const searches = tools.length - reads.length;
  const parts: string[] = [];
  if (reads.length > 0) {
    const files = new Set(reads.map((t) => argument(t.input, "")));
    parts.push(files.size === 1 ? `Read ${baseName([...files][0]!)}` : `Read ${files.size} files`);
  }
  if (searches > 0) parts.push(`${parts.length ? "searched" : "Searched"} ${searches === 1 ? "once" : `${searches} times`}`);
  return parts.join(", ");
}
