import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { allow, live, world } from "./harness";

const tool = (id: string, name: string, cls: string, input: unknown, result: object) => [
  { event: { kind: "tool.pre", data: { tool_id: id, name, class: cls, input } } },
  { event: { kind: result && "error" in result ? "tool.failure" : "tool.post", data: { tool_id: id, name, duration_ms: 120, ...result } } },
];
const lines = Array.from({ length: 200 }, (_, i) => `line ${i}`).join("\n");

const { server, open } = world({
  script: {
    turns: [[
      ...["a.go", "b.go", "c.go", "d.go"].flatMap((f) => tool(f, "Read", "read", { file_path: f }, { content: [{ type: "text", text: f }] })),
      ...tool("t", "Bash", "execute", { command: "go test ./...", description: "Run all unit tests" }, { content: [{ type: "text", text: lines }] }),
      ...tool("f", "Bash", "execute", { command: "npm ci" }, { error: "exit code 1: resolving\n\nnpm ERR! peer dep react@19\n" }),
      { text: "That is all." },
    ]],
  },
});

it("cards say what is asked in words, and edits are edited as text", async () => {
  const { context, page, watch } = await open();
  const id = await server.session({}, "create cart.go containing package cart, then run: echo done");
  await page.goto(`${server.url}/s/${id}`);
  await live(page);
  const card = page.locator("[data-request]");
  await card.getByRole("heading", { name: "Create cart.go" }).waitFor();
  expect(await card.getByText("cart.go").count()).toBe(2); // its name, once, and the rule for the session
  await card.getByRole("button", { name: "More answers" }).click();
  await page.getByRole("menuitem", { name: /Edit/ }).click();
  const text = card.getByLabel("What will be written to cart.go instead");
  expect(await text.inputValue()).toContain("package cart");
  expect(await text.inputValue()).not.toContain("{");
  await text.fill("package basket\n");
  await card.getByRole("button", { name: "Allow this instead" }).click();
  await card.getByRole("heading", { name: "Run a command" }).waitFor();
  expect(readFileSync(join(server.project, "cart.go"), "utf8")).toContain("package basket");
  await card.getByRole("button", { name: allow }).click();
  await page.locator(".turn-end").waitFor();

  // Undo puts the prompt back, and so does editing it.
  await page.keyboard.press("Alt+u");
  await page.locator(".turn-end").getByText("undone").waitFor();
  const message = page.getByRole("textbox", { name: "Message" });
  await expect.poll(() => message.inputValue()).toContain("create cart.go");
  await message.fill("");
  await page.locator(".user").hover();
  await page.getByRole("button", { name: "Message actions" }).click();
  await page.getByRole("menuitem", { name: "Edit and resend" }).click();
  await expect.poll(() => message.inputValue()).toContain("create cart.go");
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("what is allowed for the session is the whole command, and is not asked again", async () => {
  const { context, page, watch } = await open();
  const id = await server.session({}, "run: ls -la / && git push --force");
  await page.goto(`${server.url}/s/${id}`);
  const card = page.locator("[data-request]");
  await card.getByText("Allow for session adds Bash(git push --force), Bash(ls *)").waitFor();
  await card.getByRole("button", { name: "Allow for session" }).click();
  await server.ended(id);
  await server.api("POST", `/v1/sessions/${id}/turns`, { prompt: "run: ls -la / && git push --force" });
  await server.ended(id, 2);
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("reads fold, commands say what they are for, failures why, and long output opens at its end", async () => {
  const { context, page, watch } = await open();
  const id = await server.session({ agent: "mock" }, "go");
  await page.goto(`${server.url}/s/${id}`);
  await page.locator(".turn-end").waitFor();
  await page.getByRole("button", { name: /Read 4 files/ }).waitFor();
  await page.getByRole("button", { name: /go test .* Run all unit tests/ }).click();
  const output = page.getByRole("group", { name: "Output" });
  await output.waitFor();
  await expect.poll(() => output.evaluate((e) => e.scrollHeight - e.scrollTop - e.clientHeight)).toBeLessThan(4);
  await expect.poll(() => output.evaluate((e) => e.scrollTop)).toBeGreaterThan(100);
  await page.getByText("exit code 1: npm ERR! peer dep react@19", { exact: true }).waitFor();
  expect(watch.problems).toEqual([]);
  await context.close();
});
