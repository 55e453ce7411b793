// @vitest-environment happy-dom
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it, vi } from "vitest";
import type { RequestData } from "../api/types";
import { Script, session } from "../model/testing";
import { ShownContext } from "./context";
import { ToolCard } from "./ToolCard";

vi.mock("../api/queries", () => ({ useMe: () => "me" }));

/** The line of the first tool, without its marks. */
function line(s: Script): { text: string; html: string } {
  const tool = s.items().find((i) => i.type === "tool")!;
  const html = renderToStaticMarkup(<ShownContext value={{ session: session("s"), conversation: s.conversation() }}><ToolCard tool={tool} /></ShownContext>);
  const el = document.createElement("div");
  el.innerHTML = html;
  return { text: el.textContent ?? "", html };
}

const bash = () => new Script()
  .add("tool.pre", { tool_id: "t", name: "Bash", class: "execute", input: { command: "make" } })
  .add("permission.request", { request_id: "r", tool_id: "t" });
const allowed = () => bash().add("permission.decision", { request_id: "r", gate: "permission", behavior: "allow", source: "user", by: "me" });

it.each([
  ["question", { questions: [{ id: "q", text: "Which colour?" }] }],
  ["plan", { plan: "1. Look\n2. Act" }],
] as const)("a call that puts a %s waits for a person", (gate, data) => {
  const ask = () => new Script().add("tool.pre", { tool_id: "t", name: "Ask", class: "other", input: {} });
  expect(line(ask()).text).toMatch(/running/);
  const asked = () => ask().add(`${gate}.request`, { request_id: "r", tool_id: "t", ...data } as RequestData);
  expect(line(asked()).text).toMatch(/waiting for you$/);
  expect(line(asked()).html).not.toContain("busy");
  expect(line(asked().add(`${gate}.decision`, { request_id: "r", gate, behavior: "answer", source: "user" })).text).toMatch(/running/);
});

it("a call that runs beside a question goes on, and one that needs approval says so", () => {
  const beside = new Script()
    .add("tool.pre", { tool_id: "t", name: "Bash", class: "execute", input: { command: "make" } })
    .add("question.request", { request_id: "r", questions: [{ id: "q", text: "Which colour?" }] });
  expect(line(beside).text).toMatch(/running/);
  expect(line(bash()).text).toMatch(/needs approval$/);
});

it("a command that was allowed and failed says why, with no check mark", () => {
  const { text, html } = line(allowed().add("tool.failure", { tool_id: "t", name: "Bash", error: "cc main.c\nno such file\n[exit code 2]", duration_ms: 1 }));
  expect(text).toBe("Bashmakefailedexit code 2: no such file");
  expect(html).not.toContain("lucide-check");
  expect(line(allowed().add("tool.post", { tool_id: "t", name: "Bash", duration_ms: 1 })).html).toContain("lucide-check");
});

it("the time of what runs goes on by itself, without the mark of who allowed it", () => {
  vi.useFakeTimers({ now: Date.parse("2026-01-01T12:01:17Z") });
  try {
    const { text, html } = line(allowed());
    expect(text).toBe("Bashmakerunning1 min 15 s"); // it began 76 s ago, and waited a second for its answer
    expect(html).not.toContain("lucide-check");
  } finally {
    vi.useRealTimers();
  }
});

it("a command is a command, by whatever name an agent calls it", () => {
  const codex = new Script().add("tool.pre", { tool_id: "t", name: "exec_command", class: "execute", input: { cmd: "touch made.txt", workdir: "/p" } });
  expect(line(codex).text).toMatch(/^Runtouch made.txtrunning/);
  const listed = new Script().add("tool.pre", { tool_id: "t", name: "shell", class: "execute", input: { command: ["bash", "-lc", "make all"] } });
  expect(line(listed).text).toMatch(/^Runmake allrunning/);
});
