import { expect, it } from "vitest";
import { allow, world } from "./harness";

const { server, open } = world();

it("everything can be answered with a thumb", async () => {
  const { context, page, watch } = await open({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await server.session({}, `run: echo ${"a-very-long-word-".repeat(12)}`);
  const bar = page.getByRole("navigation", { name: "Panes" });
  await bar.locator(".badge").getByText("1").waitFor();
  await bar.getByRole("button", { name: /Needs you/ }).tap();
  const request = page.locator("[data-request]");
  await request.waitFor();
  for (const button of await request.locator(".answers .button").all()) {
    const box = await button.boundingBox();
    expect(box!.height).toBeGreaterThanOrEqual(44);
  }
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await request.getByRole("button", { name: allow }).tap();
  await page.getByText("Nothing needs you").waitFor();

  await bar.getByRole("button", { name: "Sessions" }).tap();
  await page.locator("[data-session]").first().tap();
  await page.locator(".turn-end").waitFor();
  await bar.getByRole("button", { name: "Changes" }).tap();
  await page.getByRole("tab", { name: "Timeline" }).tap();
  await page.getByRole("tabpanel", { name: "Timeline" }).getByText("a-very-long").first().waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await bar.getByRole("button", { name: "Chat" }).tap();
  await page.getByRole("textbox", { name: "Message" }).waitFor();
  expect(watch.problems).toEqual([]);
  await context.close();
});
