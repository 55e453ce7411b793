import { expect, it } from "vitest";
import { live, world } from "./harness";

const { server, open } = world();

it("a terminal works beside the conversation, survives a reload, is shared, quoted and closed", async () => {
  const { context, page, watch } = await open({ viewport: { width: 1440, height: 900 } });
  const id = await server.session({ title: "with a shell" });
  await page.goto(`${server.url}/s/${id}`);
  await live(page);
  const list = async () => (await server.api<{ items: { id: string; busy: boolean; columns: number }[] }>("GET", `/v1/sessions/${id}/terminals`)).body.items;
  expect(await list()).toEqual([]); // nothing is started until somebody asks

  await page.keyboard.press("Control+`");
  const dock = page.getByRole("region", { name: "Terminal" });
  const screen = dock.locator(".xterm-rows");
  await screen.getByText(/[#$]\s*$/).first().waitFor(); // a prompt
  await page.keyboard.type("pwd; echo $((6*7))\"-from the shell\"; printf '\\033[38;2;200;10;10mred''dish\\033[0m\\n'\n");
  await screen.getByText("42-from the shell").waitFor();
  await screen.getByText(server.project).first().waitFor();
  expect(await screen.getByText("reddish", { exact: true }).evaluate((e) => getComputedStyle(e).color)).not.toBe(await screen.evaluate((e) => getComputedStyle(e).color));
  await expect.poll(async () => (await list())[0]!.columns).toBeGreaterThan(90); // as wide as there is room

  await page.reload();
  await screen.getByText("42-from the shell").waitFor();
  expect(await list()).toHaveLength(1);
  const again = await context.newPage(); // somebody else sees the same
  await again.goto(`${server.url}/s/${id}`);
  await again.locator(".xterm-rows").getByText("42-from the shell").waitFor();
  await again.close();

  // What it shows goes to the agent as a quoted block, and leaves what was typed.
  await page.getByRole("textbox", { name: "Message" }).fill("Why is this?");
  await screen.getByText("42-from the shell").dblclick({ force: true });
  await dock.getByRole("button", { name: "Quote to the agent" }).click();
  await expect.poll(() => page.getByRole("textbox", { name: "Message" }).inputValue()).toMatch(/^Why is this\?\n\n```\n[^`]+\n```\n$/);

  // Hidden, it goes on, and says so.
  await dock.locator("textarea").focus();
  await page.keyboard.type("sleep 600\n");
  await dock.getByRole("tab", { name: /sleep/ }).waitFor();
  await page.keyboard.press("Control+`");
  await dock.waitFor({ state: "detached" });
  await page.getByRole("button", { name: /sleep runs in the terminal/ }).click();
  await dock.getByRole("button", { name: "End this terminal" }).click();
  await dock.waitFor({ state: "detached" });
  expect(await list()).toEqual([]);
  expect(watch.problems).toEqual([]); // the page's policy holds
  await context.close();
});
