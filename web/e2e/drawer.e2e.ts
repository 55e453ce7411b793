import { expect, it } from "vitest";
import { world } from "./harness";

const { server, open } = world();

it("a drawer opens only when asked to, hides no request that keys answer, and Esc closes it first", async () => {
  const { context, page, watch } = await open();
  const id = await server.session({}, "run: sleep 200");
  await page.goto(`${server.url}/s/${id}`);
  const card = page.locator("[data-request]");
  const focused = page.locator("[data-request]:focus");
  const tabs = page.getByRole("tablist");
  await focused.waitFor();
  await page.keyboard.press("Alt+]");
  await tabs.waitFor();

  await page.setViewportSize({ width: 1024, height: 768 });
  await tabs.waitFor({ state: "detached" });
  await page.reload();
  await focused.waitFor();
  expect(await tabs.count()).toBe(0);

  await page.keyboard.press("Alt+]");
  await tabs.waitFor();
  await page.locator(".drawer:focus").waitFor();
  expect(await page.locator(".panes[inert] [data-request]").count()).toBe(1);
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  await tabs.waitFor({ state: "detached" });
  await focused.waitFor(); // it was neither allowed nor stopped
  await page.keyboard.press("Alt+]");
  await tabs.waitFor();
  await page.keyboard.press("Alt+g");
  await tabs.waitFor({ state: "detached" });
  await focused.waitFor();
  await page.keyboard.press("Escape");
  await page.getByText("You stopped it").waitFor();
  expect(await card.count()).toBe(0);

  await page.setViewportSize({ width: 1440, height: 900 });
  await tabs.waitFor(); // as it was left there
  expect(watch.problems).toEqual([]);
  await context.close();
});
