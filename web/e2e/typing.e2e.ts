import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { live, world } from "./harness";

const { server, open } = world();
const file = join(server.project, "a.txt");

it("what is typed goes to the message, wherever the focus is; undo needs a chord and says what it did", async () => {
  const { context, page, watch } = await open();
  const id = await server.session({ policy: "auto-approve" }, "create a.txt containing one");
  await page.goto(`${server.url}/s/${id}`);
  await live(page);
  await page.locator(".turn-end").getByRole("button", { name: "Undo" }).waitFor();
  await page.locator(".turn-end").click({ position: { x: 2, y: 2 } });
  await page.keyboard.type("update the docs");
  expect(await page.getByRole("textbox", { name: "Message" }).inputValue()).toBe("update the docs");
  expect(existsSync(file)).toBe(true);

  await page.keyboard.press("Alt+u");
  const said = page.locator(".toast");
  await said.getByText("Reverted 1 file").waitFor();
  await page.locator(".turn-end").getByText("undone").waitFor();
  expect(existsSync(file)).toBe(false);
  await said.getByRole("button", { name: "Redo" }).click();
  await said.getByText("Restored 1 file").waitFor();
  await page.locator(".turn-end").getByText("undone").waitFor({ state: "detached" });
  expect(existsSync(file)).toBe(true);
  expect(await page.getByRole("textbox", { name: "Message" }).inputValue()).toBe("update the docs");
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("a request takes the keys while the message is empty, and gives them back", async () => {
  const { context, page } = await open();
  const id = await server.session({ policy: "ask" });
  await page.goto(`${server.url}/s/${id}`);
  await live(page);
  const message = page.getByRole("textbox", { name: "Message" });
  await message.fill("run: echo one, then run: echo two");
  await message.press("Enter");
  const card = page.locator("[data-request]");
  await page.locator("[data-request]:focus", { hasText: "echo one" }).waitFor();
  await page.keyboard.press("Enter");
  await page.locator("[data-request]:focus", { hasText: "echo two" }).waitFor();
  await page.keyboard.press("Enter");
  await page.locator(".turn-end").waitFor();
  await page.locator(".composer textarea:focus").waitFor();

  // Whoever writes is left alone, and can still go to the request.
  await message.fill("run: echo three");
  await message.press("Enter");
  await message.fill("and then");
  await card.waitFor();
  await page.keyboard.type(" s");
  await page.waitForTimeout(1_000); // longer than a request waits for a pause
  expect(await message.inputValue()).toBe("and then s");
  await page.keyboard.press("Alt+g");
  await page.keyboard.press("Enter");
  await page.locator(".turn-end").nth(1).waitFor();
  await context.close();
});

it("Esc stops the turn, from the message field too", async () => {
  const { context, page } = await open();
  const id = await server.session({ policy: "auto-approve" }, "run: sleep 600");
  await page.goto(`${server.url}/s/${id}`);
  await page.locator(".tool .dot.busy").first().waitFor();
  await page.getByRole("textbox", { name: "Message" }).focus();
  await page.keyboard.press("Escape");
  await page.getByText("You stopped it").waitFor();
  await context.close();
});
