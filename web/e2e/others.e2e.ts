import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { allow, installed, world } from "./harness";

// One story with the real OpenCode and the real Codex, with a scripted model: an edit that
// is asked for and taken back, a command that is denied, and one that is stopped.
const model = `
steps:
  - {match: {user: greet me}, anywhere: true, answer: {text: "I will **write** it.", tools: [{do: write, input: {path: "{{dir}}/greeting.txt", content: "Ciao\\n"}}]}}
  - {match: {user: deploy it}, anywhere: true, answer: {tools: [{do: shell, input: {command: touch deployed.txt}}]}}
  - {match: {user: wait long}, anywhere: true, answer: {tools: [{do: shell, input: {command: "touch waiting.txt; sleep 1000"}}]}}
  - {repeat: forever, anywhere: true, answer: {text: That was all.}}
`;

describe.each([{ agent: "opencode" }, { agent: "codex" }] as const)("the real $agent", ({ agent }) => {
  const { server, open } = world({ model, agent });

  it.skipIf(!installed(agent))("edits after a yes, is undone, is denied and is stopped", async () => {
    const { page, watch, context } = await open();
    const id = await server.session({ agent, policy: "ask" }, "greet me");
    await page.goto(`${server.url}/s/${id}`);
    await page.locator("strong", { hasText: "write" }).waitFor();
    const request = page.locator("[data-request]");
    await request.getByText("greeting.txt").first().waitFor();
    await request.getByText("Ciao").first().waitFor();
    const file = join(server.project, "greeting.txt");
    expect(existsSync(file)).toBe(false);
    await request.getByRole("button", { name: allow }).click();
    await page.locator("p", { hasText: "That was all." }).waitFor();
    await page.locator(".turn-end").getByText("tokens").waitFor();
    expect(readFileSync(file, "utf8")).toBe("Ciao\n");
    await page.locator(".tool", { hasText: "greeting.txt" }).getByTitle("You allowed it").waitFor();
    await page.locator(".turn-end").getByRole("button", { name: "Undo" }).click();
    await page.locator(".turn-end").getByText("undone").waitFor();
    expect(existsSync(file)).toBe(false);

    const composer = page.getByRole("textbox", { name: "Message" });
    await composer.fill("deploy it");
    await page.keyboard.press("Enter");
    await request.getByText("touch deployed.txt").first().waitFor();
    await request.getByRole("button", { name: "Deny…" }).click();
    await page.keyboard.press("Enter");
    await server.ended(id, 2);
    expect(existsSync(join(server.project, "deployed.txt"))).toBe(false);
    await page.locator(".tool", { hasText: "deployed.txt" }).getByTitle("You denied it").waitFor();

    await composer.fill("wait long");
    await page.keyboard.press("Enter");
    await request.getByText("touch waiting.txt").first().waitFor();
    await request.getByRole("button", { name: allow }).click();
    await expect.poll(() => existsSync(join(server.project, "waiting.txt"))).toBe(true);
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await server.ended(id, 3);
    await page.locator(".turn-end").nth(2).getByText("You stopped it.").waitFor();
    expect(watch.problems).toEqual([]);
    await context.close();
  });
});
