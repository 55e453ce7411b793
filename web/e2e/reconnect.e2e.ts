import { expect, it } from "vitest";
import { live, world } from "./harness";

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
