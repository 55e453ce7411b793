import axe from "axe-core";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { live, world } from "./harness";

const many = 480;
const piece = (i: number) => ({ event: { kind: "message.delta", data: { message_id: "m1", index: 0, text: `word ${i} ` } } });
const script = { turns: [[...Array.from({ length: 1000 }, (_, i) => [{ delay: "200ms" }, piece(i)]).flat(), { hang: true }]] };

let working = "";
const { server, open } = world({ script }, async (server) => {
  for (let i = 0; i < many; i += 20) await Promise.all(Array.from({ length: 20 }, (_, n) => server.session({ agent: "mock", title: `session ${i + n}` })));
  for (let i = 0; i < 3; i++) working = await server.session({ agent: "mock", title: `at work ${i}` }, "go");
});

const total = many + 3;
const nth = (page: Page, n: number) => page.locator(`li[aria-posinset="${n}"] [data-session]`);
const list = (page: Page) => page.locator(".side .list");
const end = (page: Page) => list(page).evaluate((el) => void (el.scrollTop = el.scrollHeight));

/** Whether the element is in view within the list. */
const inView = (page: Page, selector: string) =>
  page.waitForFunction((selector) => {
    const [own, box] = [document.querySelector(selector)?.getBoundingClientRect(), document.querySelector(".side .list")!.getBoundingClientRect()];
    return own && own.top >= box.top - 1 && own.bottom <= box.bottom + 1;
  }, selector);

it("draws the sessions in view only, and all of them for whoever scrolls", async () => {
  const { context, page, watch } = await open();
  await live(page);
  await nth(page, 1).waitFor();
  expect(await page.locator(`li[aria-setsize="${total}"]`).count()).toBe(await page.locator("[data-session]").count());
  expect(await page.locator("[data-session]").count()).toBeLessThan(60);
  expect(await page.evaluate(() => document.querySelectorAll("*").length)).toBeLessThan(1_500);

  const seen = await list(page).evaluate(async (el) => {
    const ids = new Map<string, string>();
    for (let top = 0; ; top += el.clientHeight / 2) {
      el.scrollTop = top;
      await new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)));
      for (const li of el.querySelectorAll("li[aria-posinset]")) ids.set(li.getAttribute("aria-posinset")!, li.querySelector("[data-session]")!.getAttribute("data-session")!);
      if (top > el.scrollHeight) return [...ids];
    }
  });
  expect(seen.map(([place]) => Number(place)).sort((a, b) => a - b)).toEqual(Array.from({ length: total }, (_, i) => i + 1));
  expect(new Set(seen.map(([, id]) => id)).size).toBe(total);
  // At the end of the list its section still has a name and a head.
  await nth(page, total).waitFor();
  expect(await nth(page, 1).count()).toBe(0);
  expect(await page.getByRole("region", { name: "api-server" }).getByRole("heading").count()).toBe(1);

  await page.evaluate(axe.source);
  const found = await page.evaluate(async () => (await (window as unknown as { axe: typeof axe }).axe.run(".side")).violations.map((v) => v.id));
  expect(found.filter((id) => id !== "region")).toEqual([]);

  await page.getByRole("searchbox").fill("session 123");
  await page.locator('li[aria-setsize="1"]').getByText("session 123").waitFor();
  expect(await page.locator("[data-session]").count()).toBe(1);
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("keys, focus and addresses reach the sessions that are out of view", async () => {
  const { context, page, watch } = await open();
  await live(page);
  await nth(page, 1).waitFor();
  for (let i = 0; i < 40; i++) await page.keyboard.press("Alt+j");
  await page.locator('li[aria-posinset="40"] [aria-current="page"]').waitFor();
  await inView(page, 'li[aria-posinset="40"]');
  await page.waitForURL(`**/s/${await nth(page, 40).getAttribute("data-session")}`);
  await end(page);
  await nth(page, total).waitFor();
  expect(await nth(page, 40).count()).toBe(0);
  await page.keyboard.press("Alt+k");
  await page.locator('li[aria-posinset="39"] [aria-current="page"]').waitFor();
  await inView(page, 'li[aria-posinset="39"]');

  // What has the focus stays, wherever the list is scrolled to, and Tab goes on from there.
  await list(page).evaluate((el) => void (el.scrollTop = 0));
  await nth(page, 3).focus();
  await end(page);
  await nth(page, total).waitFor();
  expect(await nth(page, 3).evaluate((el) => el === document.activeElement)).toBe(true);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  expect(await nth(page, 4).evaluate((el) => el === document.activeElement)).toBe(true);
  await inView(page, 'li[aria-posinset="4"]');

  await end(page);
  const last = (await nth(page, total - 5).getAttribute("data-session"))!;
  await page.goto(`${server.url}/s/${last}`);
  await inView(page, `li:has([data-session="${last}"])`);
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("nothing moves on Home while agents work, and in a conversation one mark, in steps, without layout or paint", async () => {
  const { context, page } = await open();
  const animations = () => page.evaluate(() => document.getAnimations().filter((a) => a instanceof CSSAnimation).map((a) => {
    const effect = a.effect as KeyframeEffect;
    const changes = effect.getKeyframes().flatMap((k) => Object.keys(k).filter((p) => !["offset", "computedOffset", "easing", "composite"].includes(p)));
    return `${effect.target!.closest("[class]")!.className} in ${effect.target!.parentElement!.parentElement!.className}: ${[...new Set(changes)].join()} ${effect.getKeyframes()[0]!.easing}`;
  }));
  await live(page);
  await page.getByRole("main").getByText("writing").nth(2).waitFor();
  expect(await animations()).toEqual([]);
  await page.goto(`${server.url}/s/${working}`);
  await page.locator(".live-line .dot.busy").waitFor();
  await page.locator(".skeleton").first().waitFor({ state: "detached" });
  expect(await animations()).toEqual(["dot busy in live-line: transform steps(8)"]);
  await context.close();

  const calm = await open({ reducedMotion: "reduce" });
  await calm.page.goto(`${server.url}/s/${working}`);
  await calm.page.locator(".live-line .dot.busy").waitFor();
  expect(await calm.page.evaluate(() => document.getAnimations().length)).toBe(0);
  await calm.context.close();
});
