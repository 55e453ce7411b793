import { expect, it } from "vitest";
import { live, openTab, world } from "./harness";

const { server, open } = world();

it("the side pane is closed until asked for, opens on changes, and shows the session as a picture to jump in", async () => {
  const { context, page, watch } = await open();
  const id = await server.session({ policy: "auto-approve" }, "create a.txt containing one, then run: echo hi");
  await server.ended(id);
  await page.goto(`${server.url}/s/${id}`);
  await page.locator(".turn-end").waitFor();
  expect(await page.getByRole("tablist").count()).toBe(0);
  for (let i = 0; i < 6; i++) {
    await server.api("POST", `/v1/sessions/${id}/turns`, { prompt: "run: seq 1 3, then list files" });
    await server.ended(id, i + 2);
  }
  await page.keyboard.press("Alt+]");
  await page.getByRole("tabpanel", { name: "Changes" }).waitFor();
  await openTab(page, "Timeline");
  const panel = page.getByRole("tabpanel", { name: "Timeline" });
  await expect.poll(() => panel.getByRole("button").count()).toBe(7);
  await expect.poll(() => panel.locator(".tl-part").count()).toBeGreaterThan(7);
  expect(await panel.getByText("waited for you").count()).toBe(0);
  await panel.getByRole("button", { name: /create a.txt/ }).click();
  await page.locator(".virtual-row.hit .user", { hasText: "create a.txt" }).waitFor();
  expect(watch.problems).toEqual([]);
  await context.close();
});

const ours = /oversight|passthrough|\bgrants\b|no opinion|First that is ready|own choice|\bnative\b|wants to change|Send back|Do not answer/i;

it("no word on the screen is one of ours", async () => {
  const { context, page } = await open();
  await server.ended(await server.session({ title: "done" }, "list files")); // Usage tells of it
  const asked = await server.session({ title: "asked" }, "ask me");
  const edit = await server.session({ title: "edit" }, "create b.txt containing one");
  await live(page);
  for (const path of ["/", `/s/${asked}`, `/s/${edit}`, "/usage", "/rules", "/personas"]) {
    await page.goto(server.url + path);
    await page.getByRole("main").waitFor();
    if (path === "/usage") await page.getByRole("cell", { name: "Demo" }).waitFor();
    if (path.startsWith("/s/")) await page.locator("[data-request]").waitFor();
    expect(await page.locator("body").innerText(), path).not.toMatch(ours);
  }
  await page.keyboard.press("Alt+n");
  const dialog = page.getByRole("dialog", { name: "New session" });
  await dialog.getByRole("combobox", { name: "Agent" }).selectOption("native");
  expect(await dialog.innerText()).not.toMatch(ours);
  await dialog.getByText("Demo (built in)").waitFor({ state: "attached" });
  await context.close();
});
