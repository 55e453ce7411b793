import type { Locator } from "playwright-core";
import { expect, it } from "vitest";
import { allow, inFirefox, world } from "./harness";

const { server, open } = world();

/** Playwright has no finger for a stock Firefox. */
const tap = (on: Locator) => (inFirefox ? on.click() : on.tap());

it("everything can be answered with a thumb", async () => {
  const { context, page, watch } = await open({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await server.session({}, `run: echo ${"a-very-long-word-".repeat(12)}`);
  const bar = page.getByRole("navigation", { name: "Panes" });
  await bar.locator(".badge").getByText("1").waitFor();
  await tap(bar.getByRole("button", { name: /Needs you/ }));
  const request = page.locator("[data-request]");
  await request.waitFor();
  for (const button of await request.locator(".answers .button").all()) {
    const box = await button.boundingBox();
    expect(box!.height).toBeGreaterThanOrEqual(44);
  }
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await tap(request.getByRole("button", { name: allow }));
  await page.getByText("Nothing needs you").waitFor();

  await tap(bar.getByRole("button", { name: "Sessions" }));
  await tap(page.locator("[data-session]").first());
  await page.locator(".turn-end").waitFor();
  await tap(bar.getByRole("button", { name: "Changes" }));
  await tap(page.getByRole("tab", { name: "Timeline" }));
  await page.getByRole("tabpanel", { name: "Timeline" }).getByText("a-very-long").first().waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await tap(bar.getByRole("button", { name: "Chat" }));
  await page.getByRole("textbox", { name: "Message" }).waitFor();
  expect(watch.problems).toEqual([]);
  await context.close();
});
