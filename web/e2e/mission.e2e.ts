import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { live, world } from "./harness";

const message = (text: string) => ({ event: { kind: "message.complete", data: { message_id: "m1", role: "assistant", blocks: [{ type: "text", text }] } } });
const { server, open } = world({
  script: { turns: [[message("I looked around.\n\nThe tests pass. Deploying now."), { tool: { name: "Bash", input: { command: "make deploy" }, ask: true } }]] },
});

it("Home says what the agent said before it asked, and what ended can be reviewed, undone and tried again there", async () => {
  const { context, page, watch } = await open();
  await live(page);
  const main = page.getByRole("main");
  await server.session({ agent: "mock", title: "deploy" }, "deploy it");
  const needs = main.getByRole("region", { name: "Needs you" });
  await needs.getByText("The tests pass. Deploying now.").waitFor();
  expect(await needs.getByText("I looked around.").count()).toBe(0);
  await page.reload();
  await needs.getByText("The tests pass. Deploying now.").waitFor(); // also for somebody who comes later

  const made = await server.session({ title: "new cart", policy: "auto-approve" }, "create cart.go containing package cart");
  const done = main.getByRole("region", { name: "Done since you last looked" });
  await done.getByText("in 1 file").waitFor();
  expect(await done.locator(".home-counts").innerText()).toMatch(/^\+1 −0/);
  await done.getByRole("button", { name: "Review new cart" }).click();
  await page.waitForURL(`**/s/${made}`);
  await page.getByRole("navigation", { name: "Changed files" }).getByRole("button", { name: /cart.go/ }).waitFor();

  await page.goto(server.url);
  await live(page);
  await server.session({ title: "second cart", policy: "auto-approve" }, "create b.go containing package b");
  await done.getByRole("button", { name: "Undo second cart" }).click();
  await page.getByText("Reverted 1 file", { exact: true }).waitFor();
  await page.mouse.move(5, 5);
  const failed = await server.session({ title: "bad luck" }, "fail");
  await done.getByRole("button", { name: "Retry bad luck" }).click();
  await expect.poll(async () => (await server.api<{ items: unknown[] }>("GET", `/v1/sessions/${failed}/turns`)).body.items.length).toBe(2);
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("those that work fold by folder, and what is folded is not drawn", async () => {
  const { context, page } = await open();
  await live(page);
  for (const folder of ["web-client", "worker"]) {
    const cwd = join(server.project, "..", folder);
    mkdirSync(cwd, { recursive: true });
    for (let i = 0; i < 7; i++) await server.session({ title: `${folder} ${i}`, cwd, policy: "auto-approve" }, "run: sleep 600");
  }
  const working = page.getByRole("main").getByRole("region", { name: "Working" });
  const fold = working.locator("details", { hasText: "web-client" });
  await working.getByText("7 sessions").nth(1).waitFor();
  expect(await working.locator(".home-row").count()).toBe(0);
  await fold.locator("summary").click();
  await working.getByText("web-client 3").waitFor();
  await expect.poll(() => working.locator(".home-row").count()).toBe(7);
  await working.getByRole("combobox").selectOption("One list");
  await expect.poll(() => working.locator(".home-row").count()).toBe(14);
  await working.getByRole("combobox").selectOption("By team");
  await working.getByText("On their own").waitFor();
  await context.close();
});
