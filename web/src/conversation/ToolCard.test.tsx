// @vitest-environment happy-dom
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it, vi } from "vitest";
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

it("a command that was allowed and failed says why, with no check mark", () => {
  const { text, html } = line(allowed().add("tool.failure", { tool_id: "t", name: "Bash", error: "cc main.c\nno such file\n[exit code 2]", duration_ms: 1 }));
  expect(text).toBe("Bashmakefailedexit code 2: no such file");
  expect(html).not.toContain("lucide-check");
  expect(line(allowed().add("tool.post", { tool_id: "t", name: "Bash", duration_ms: 1 })).html).toContain("lucide-check");
});
