import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { allow, installed, world } from "./harness";

// The real Claude Code with a scripted model: text, a question, an edit that is asked
// for, and everything taken back.
const { server, open } = world({
  model: `
steps:
  - match: {user: greet me}
    answer:
      text: I will ask first.
      tools:
        - name: AskUserQuestion
          input:
            questions:
              - question: In which language?
                header: Language
                multiSelect: false
                options: [{label: English, description: Hello}, {label: Italian, description: Ciao}]
  - match: {tool_result: Italian}
    answer: {tools: [{name: Write, input: {file_path: "{{dir}}/greeting.txt", content: Ciao}}]}
  - match: {tool_result: greeting.txt}
    answer: {text: "The greeting is **written**."}
`,
});

it.skipIf(!installed("claude"))("the real Claude Code asks, edits, and is undone", async () => {
  const { page, watch, context } = await open();
  const id = await server.session({ agent: "claude", policy: "ask" }, "greet me");
  await page.goto(`${server.url}/s/${id}`);
  await page.locator("p", { hasText: "I will ask first." }).waitFor();

  const request = page.locator("[data-request]");
  await request.locator("legend", { hasText: "In which language?" }).waitFor();
  await request.getByRole("radio", { name: /Italian/ }).click();

  await request.getByRole("heading", { name: "Create greeting.txt" }).waitFor();
  await request.getByText("Ciao").first().waitFor();
  const file = join(server.project, "greeting.txt");
  expect(existsSync(file)).toBe(false);
  await request.getByRole("button", { name: allow }).click();

  await page.locator("strong", { hasText: "written" }).waitFor();
  await page.locator(".turn-end").getByText("tokens").waitFor();
  expect(readFileSync(file, "utf8")).toBe("Ciao");
  // What passed without an opinion is not shown, and the answer is on the row of its tool.
  expect(await page.locator(".rows").innerText()).not.toMatch(/policy|opinion/i);
  expect(await page.locator(".decided", { hasText: "allowed" }).count()).toBe(0);
  await page.locator(".tool", { hasText: "greeting.txt" }).getByTitle("You allowed it").waitFor();
  await page.locator(".turn-end").getByRole("button", { name: "Undo" }).click();
  await page.locator(".turn-end").getByText("undone").waitFor();
  expect(existsSync(file)).toBe(false);
  expect(watch.problems).toEqual([]);
  await context.close();
});
