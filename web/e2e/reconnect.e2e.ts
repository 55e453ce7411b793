import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { live, openTab, world } from "./harness";

const { server, open } = world();

it("survives a crash of the server in mid-turn without a reload, gap or duplicate", async () => {
  const { context, page } = await open();
  const id = await server.session({ policy: "auto-approve" }, "run: for i in 1 2 3 4 5 6 7 8 9; do echo line $i; sleep 0.3; done; sleep 600");
  await page.goto(`${server.url}/s/${id}`);
  await page.evaluate(() => ((window as { mark?: number }).mark = 1));
  await page.locator(".tool .output", { hasText: "line 2" }).waitFor();

  await server.stop();
  await page.getByRole("status").filter({ hasText: "reconnecting since" }).waitFor();
  const message = page.getByRole("textbox", { name: "Message" });
  await message.fill("written while it was away");
  await message.press("Enter");
  await page.getByText("The message was not sent").first().waitFor();
  expect(await message.inputValue()).toBe("written while it was away");

  await server.start();
  await live(page);
  await page.locator(".turn-end").first().waitFor();
  await message.fill("list files");
  await message.press("Enter");
  await page.locator(".turn-end").nth(1).waitFor();
  await expect.poll(() => page.locator(".user").count()).toBe(2);
  expect(await page.evaluate(() => (window as { mark?: number }).mark)).toBe(1);

  // What is shown now is what a fresh page shows.
  const shown = await page.locator(".rows").innerText();
  await page.reload();
  await page.locator(".turn-end").nth(1).waitFor();
  await expect.poll(() => page.locator(".rows").innerText()).toBe(shown);
  await context.close();
});

it.each([1440, 390])("says above the message that the server is away, and covers neither at %s pixels", async (width) => {
  const { context, page } = await open({ viewport: { width, height: 844 } });
  const id = await server.session({ policy: "auto-approve" }, "run: sleep 600");
  await page.goto(`${server.url}/s/${id}`);
  await page.getByRole("button", { name: /^Stop/ }).waitFor();
  await server.stop();
  const away = page.getByRole("status").filter({ hasText: "Not connected. Trying again…" });
  await away.waitFor();
  const message = page.getByRole("textbox", { name: "Message" });
  await message.fill("are you there");
  await message.press("Enter");
  const toast = page.locator(".toast", { hasText: "The message was not sent" });
  await toast.waitFor();
  const [shown, line, field] = [(await toast.boundingBox())!, (await away.boundingBox())!, (await page.locator(".composer-box").boundingBox())!];
  expect(shown.y + shown.height).toBeLessThanOrEqual(line.y);
  expect(line.y + line.height).toBeLessThanOrEqual(field.y);
  await server.start();
  await away.waitFor({ state: "detached" });
  await context.close();
});

it("a session that was opened while the server was away shows once it is back", async () => {
  const { context, page } = await open();
  writeFileSync(join(server.project, "notes.txt"), "kept for later\n");
  const id = await server.session({ policy: "auto-approve" }, "list files");
  await server.ended(id);
  await live(page);
  const row = page.locator(`.side [data-session="${id}"]`);
  await row.waitFor();
  await server.stop();
  await page.getByRole("status").filter({ hasText: "reconnecting since" }).waitFor();
  await row.click();
  await page.getByText("This session cannot be shown").waitFor();
  await server.start();
  await page.locator(".turn-end").first().waitFor();

  // What a pane could not fetch comes by itself, too.
  await openTab(page, "Files");
  await server.stop();
  await page.getByRole("status").filter({ hasText: "reconnecting since" }).waitFor();
  await page.getByRole("treeitem", { name: "notes.txt" }).click();
  await page.getByText("The server cannot be reached").first().waitFor();
  await server.start();
  await page.getByText("kept for later").waitFor();
  await context.close();
});
