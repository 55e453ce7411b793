import { expect, it } from "vitest";
import { live, world } from "./harness";

const { server, open } = world();

it("says who does what for how long, and shows what a command prints", async () => {
  const { context, page, watch } = await open();
  const id = await server.session({ policy: "auto-approve" }, "run: for i in 1 2 3 4 5 6 7 8 9; do echo line $i; sleep 1; done; sleep 600");
  await page.goto(`${server.url}/s/${id}`);
  const line = page.getByRole("group", { name: "What the agent is doing" });
  await line.getByText("Demo").waitFor();
  await line.getByText(/running for i in 1 2 3/).waitFor();
  await line.getByText(/\d s/).waitFor();
  await page.locator(".tool .output", { hasText: "line 2" }).waitFor();
  expect(await page.locator(".tool .fold").first().getAttribute("aria-expanded")).toBe("false"); // unasked
  const place = (await page.locator(".composer").boundingBox())!;
  await page.keyboard.press("Escape");
  await page.locator(".turn-end").waitFor();
  await line.getByText("Demo").waitFor({ state: "detached" });
  expect(await page.locator(".composer").boundingBox()).toEqual(place); // nothing jumped
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("marks what finished until it is seen: in the list, the title, the icon, and by a notification", async () => {
  const { context, page, watch } = await open();
  await page.addInitScript(() => {
    const told: string[] = [];
    Object.assign(window, { told });
    Object.assign(window, { Notification: class { static permission = "granted"; constructor(title: string) { told.push(title); } close() {} } });
  });
  await page.evaluate(() => localStorage.setItem("terret.settings", JSON.stringify({ state: { notify: true }, version: 2 })));
  await page.reload();
  await live(page);
  const id = await server.session({ title: "quiet work" }, "list files");
  const row = page.locator(`[data-session="${id}"]`);
  await row.getByText("finished").waitFor();
  await expect.poll(() => page.title()).toContain("✓ 1");
  await expect.poll(() => page.locator("link[rel=icon]").getAttribute("href")).toBe("/icon-done.svg");
  expect(await page.evaluate(() => (window as unknown as { told: string[] }).told)).toEqual([]); // somebody is here

  await page.evaluate(() => Object.defineProperty(document, "hidden", { get: () => true, configurable: true }));
  await server.session({ title: "far away" }, "list files");
  await expect.poll(() => page.evaluate(() => (window as unknown as { told: string[] }).told)).toEqual(["Demo finished"]);
  await page.evaluate(() => Object.defineProperty(document, "hidden", { get: () => false, configurable: true }));

  await page.reload();
  await row.getByText("finished").waitFor();
  await row.click();
  await row.getByText("finished").waitFor({ state: "detached" });
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("notifies through the service worker where pages may not", async () => {
  const { context, page, watch } = await open();
  await page.addInitScript(() => {
    const told: string[] = [];
    Object.assign(window, { told });
    Object.assign(window, { Notification: class { static permission = "granted"; constructor() { throw new TypeError("Illegal constructor"); } } });
    const registration = { showNotification: async (title: string, o: { data: { path: string } }) => { told.push(title, o.data.path); } };
    Object.defineProperty(navigator.serviceWorker, "ready", { get: () => Promise.resolve(registration) });
    Object.defineProperty(document, "hidden", { get: () => true });
  });
  await page.evaluate(() => localStorage.setItem("terret.settings", JSON.stringify({ state: { notify: true }, version: 2 })));
  await page.reload();
  await live(page);
  const id = await server.session({ title: "on a phone" }, "list files");
  await expect.poll(() => page.evaluate(() => (window as unknown as { told: string[] }).told)).toEqual(["Demo finished", `/s/${id}`]);
  expect(watch.problems).toEqual([]);
  await context.close();
});
