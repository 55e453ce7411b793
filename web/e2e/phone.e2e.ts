import type { Locator } from "playwright-core";
import { expect, it } from "vitest";
import { launchFirefox } from "./firefox";
import { allow, inFirefox, signedIn, world } from "./harness";

const { server, open } = world();

const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

/** A Firefox whose only pointer is a finger. */
const finger = { "ui.primaryPointerCapabilities": 1, "ui.allPointerCapabilities": 1 };

/** Playwright has no finger for a stock Firefox. */
const tap = (on: Locator) => (inFirefox ? on.click() : on.tap());

it("everything can be answered with a thumb", async () => {
  const { context, page, watch } = await open(phone);
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

it("what can be done with a session is in sight where nothing can hover", async () => {
  const own = inFirefox ? await launchFirefox(finger) : undefined;
  for (const title of ["alpha", "beta"]) await server.session({ title: `${title} ${"with a long name ".repeat(4)}`.trim() });
  const { context, page, watch } = await (own ? signedIn(own, server, phone) : open(phone));
  expect(await page.evaluate(() => matchMedia("(hover: none)").matches)).toBe(true);
  await tap(page.getByRole("navigation", { name: "Panes" }).getByRole("button", { name: "Sessions" }));
  const row = page.locator("li.entry").filter({ hasText: "alpha" });
  const more = row.getByRole("button", { name: /^Actions for alpha/ });
  await more.waitFor();
  expect(await more.evaluate((el) => getComputedStyle(el).opacity)).toBe("1");
  const [button, line] = [await more.boundingBox(), await row.boundingBox()];
  expect([button!.width >= 44, button!.height >= 44]).toEqual([true, true]);
  expect([button!.y >= line!.y, button!.y + button!.height <= line!.y + line!.height]).toEqual([true, true]);
  // It lies on no word of the row.
  for (const words of await row.locator(".session > span:not(.dot)").all()) {
    const box = await words.boundingBox();
    expect(box!.x + box!.width).toBeLessThanOrEqual(button!.x + 1);
  }
  await tap(more);
  const pin = page.getByRole("menuitem", { name: "Pin" });
  await pin.waitFor();
  expect((await pin.boundingBox())!.height).toBeGreaterThanOrEqual(44);
  await tap(pin);
  await page.getByRole("region", { name: "Pinned" }).getByText("alpha").waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  expect(watch.problems).toEqual([]);
  await context.close();
  await own?.close();
});

it("rules can be written and removed", async () => {
  await server.api("PUT", "/v1/rules", { items: [{ effect: "deny", pattern: "Bash(curl *)" }, { effect: "allow", pattern: `Edit(${"a-long-folder/".repeat(8)}**)` }] });
  const { context, page, watch } = await open(phone);
  await page.goto(`${server.url}/rules`);
  await page.getByLabel("Effect").selectOption("ask");
  const pattern = page.getByLabel("Pattern");
  expect((await pattern.boundingBox())!.width).toBeGreaterThan(280);
  await pattern.fill("Bash(git push *)");
  await tap(page.getByRole("button", { name: "Add rule" }));
  const table = page.getByRole("group", { name: "Rules" });
  await table.getByText("ask", { exact: true }).waitFor();
  for (const remove of await table.getByRole("button", { name: /^Remove/ }).all()) {
    const box = await remove.boundingBox();
    expect(box!.x + box!.width).toBeLessThanOrEqual(390);
  }
  await tap(table.getByRole("button", { name: "Remove Bash(git push *)" }));
  await expect.poll(() => table.getByRole("row").count()).toBe(3);
  expect(watch.problems).toEqual([]);
  await context.close();
});
