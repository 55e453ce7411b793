import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { live, world } from "./harness";

const { server, open } = world();

it("several turns are taken back in one step, and the prompt is in the message field again", async () => {
  const { context, page, watch } = await open();
  const id = await server.session({ policy: "auto-approve" });
  const file = (name: string) => join(server.project, name);
  const ask = async (prompt: string, turns: number) => {
    await server.api("POST", `/v1/sessions/${id}/turns`, { prompt });
    await server.ended(id, turns);
  };
  await ask("create keep.txt containing one", 1);
  await ask("create two.txt containing two", 2);
  await ask("list files", 3);
  await ask("create three.txt containing three", 4);
  await page.goto(`${server.url}/s/${id}`);
  await live(page);
  const message = page.locator("article.user", { hasText: "create two.txt" });
  await message.hover();
  await message.getByRole("button", { name: "Message actions" }).click();
  await page.getByRole("menuitem", { name: "Go back to before this" }).click();
  await page.getByText(/^Went back \d turns$/).first().waitFor();
  expect([existsSync(file("keep.txt")), existsSync(file("two.txt")), existsSync(file("three.txt"))]).toEqual([true, false, false]);
  await expect.poll(() => page.getByRole("textbox", { name: "Message" }).inputValue()).toBe("create two.txt containing two");
  await page.getByRole("button", { name: "Redo" }).first().click();
  await expect.poll(() => existsSync(file("two.txt")) && existsSync(file("three.txt"))).toBe(true);
  expect(watch.problems).toEqual([]);
  await context.close();
});
