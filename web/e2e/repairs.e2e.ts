import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { live, openTab, world } from "./harness";

const { server, open } = world({
  script: {
    turns: [[
      { tool: { name: "Bash", class: "execute", input: { command: "paint" }, result: "\u001b[38;5;208morange\u001b[0m\n" } },
      { text: "Like this:\n\n```diff\n-old\n+new\n```\n" },
    ]],
  },
});

const order = (page: import("playwright-core").Page) => page.locator("[data-session]").evaluateAll((all) => all.map((e) => e.getAttribute("data-session")));

it("a restart leaves the list as it was, and Terret's records stay out of the way", async () => {
  execFileSync("git", ["init", "-q"], { cwd: server.project });
  const ids: string[] = [];
  for (const title of ["one", "two", "three"]) {
    const id = await server.session({ title, policy: "auto-approve" }, `create ${title}.txt containing x`);
    await server.ended(id);
    ids.unshift(id);
  }
  const times = async () => (await server.api<{ items: { updated_at: string }[] }>("GET", "/v1/sessions")).body.items.map((s) => s.updated_at);
  const before = await times();
  const { context, page, watch } = await open();
  await live(page);
  await expect.poll(() => order(page)).toEqual(ids);
  await server.stop();
  await server.start();
  await live(page);
  await expect.poll(async () => (await server.api<{ items: { epoch: number }[] }>("GET", "/v1/sessions")).body.items.every((s) => s.epoch > 1)).toBe(true);
  expect(await times()).toEqual(before);
  await page.reload();
  await live(page);
  await expect.poll(() => order(page)).toEqual(ids);

  await page.goto(`${server.url}/s/${ids[0]}`);
  await openTab(page, "Files");
  await page.getByRole("treeitem", { name: /one.txt/ }).waitFor();
  expect(await page.getByRole("treeitem").filter({ hasText: "terret" }).count()).toBe(0);
  await openTab(page, "Changes");
  await page.getByRole("group", { name: "Changes in three.txt" }).last().waitFor();
  expect(await page.getByRole("tabpanel").innerText()).not.toContain(".terret");
  expect(execFileSync("git", ["status", "--porcelain"], { cwd: server.project }).toString()).not.toContain(".terret");
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("the palette finds every session", async () => {
  const needle = await server.session({ title: "needle in a haystack" });
  for (let i = 0; i < 510; i += 30) await Promise.all(Array.from({ length: 30 }, (_, n) => server.session({ title: `hay ${i + n}` })));
  const { context, page } = await open();
  await live(page);
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Commands" }).fill("needle haystack");
  await page.getByRole("option", { name: /needle in a haystack/ }).click();
  await page.waitForURL(`**/s/${needle}`);
  await context.close();
});

it.each([1024, 800])("nothing overlaps or is cut at %s pixels", async (width) => {
  const { context, page } = await open({ viewport: { width, height: 800 } });
  const id = await server.session({ agent: "mock", model: "a-model-with-quite-a-long-name-for-a-picker", policy: "ask" }, "paint");
  await page.goto(`${server.url}/s/${id}`);
  await page.locator(".turn-end").waitFor();
  await page.getByRole("textbox", { name: "Message" }).fill("words");
  const send = (await page.getByRole("button", { name: "Send" }).boundingBox())!;
  const mode = (await page.getByRole("combobox", { name: "Mode", exact: true }).boundingBox())!;
  expect(mode.x + mode.width).toBeLessThanOrEqual(send.x);
  const before = (await page.locator(".composer").boundingBox())!;
  await openTab(page, "Changes");
  for (const tab of await page.getByRole("tab").all()) {
    await expect.poll(async () => { const box = (await tab.boundingBox())!; return box.x + box.width; }).toBeLessThanOrEqual(width);
    await expect.poll(() => tab.evaluate((e) => document.elementFromPoint(e.getBoundingClientRect().right - 3, e.getBoundingClientRect().y + 10) === e)).toBe(true);
  }
  expect(await page.locator(".composer").boundingBox()).toEqual(before); // the pane lies over it
  await context.close();
});

it("colours of terminals and diffs show; nothing says zero", async () => {
  const { context, page, watch } = await open();
  const id = await server.session({ agent: "mock" }, "paint");
  await page.goto(`${server.url}/s/${id}`);
  await page.locator(".code-line.plus", { hasText: "+new" }).waitFor();
  await page.locator(".code-line.minus", { hasText: "-old" }).waitFor();
  await page.locator(".tool .fold").first().click();
  const orange = page.locator(".ansi-color", { hasText: "orange" });
  await orange.waitFor();
  expect(await orange.evaluate((e) => getComputedStyle(e).color)).not.toBe(await page.locator(".output").first().evaluate((e) => getComputedStyle(e).color));
  expect(await page.locator("body").innerText()).not.toMatch(/\b0(\.0 s| tokens)|\$0\b/);
  // An agent that cannot fork offers no fork.
  await page.getByRole("button", { name: "Session actions" }).click();
  await page.getByRole("menuitem", { name: "Export as HTML" }).waitFor();
  expect(watch.problems).toEqual([]);
  await context.close();
});
