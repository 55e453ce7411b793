import { expect, it } from "vitest";
import { allow, live, world } from "./harness";

const { server, open } = world();

it("two windows share one stream, and a request has one answer", async () => {
  const { context, page: one, watch } = await open();
  await live(one);
  const before = watch.streams;
  const two = await context.newPage();
  const id = await server.session({}, "run: echo twice");
  await Promise.all([one.goto(`${server.url}/s/${id}`), two.goto(`${server.url}/s/${id}`)]);
  await Promise.all([live(one), live(two)]);
  // The page that was reloaded hands the stream to another or takes it again.
  expect(watch.streams - before).toBeLessThanOrEqual(2);

  const a = one.locator("[data-request]");
  const b = two.locator("[data-request]");
  await Promise.all([a.waitFor(), b.waitFor()]);
  const request = await a.getAttribute("data-request");
  await Promise.all([
    // The slower one may find its button gone.
    a.getByRole("button", { name: allow }).click({ timeout: 10_000 }).catch(() => {}),
    b.getByRole("button", { name: /Deny and stop/ }).click({ timeout: 10_000 }).catch(() => {}),
  ]);
  await Promise.all([a.waitFor({ state: "detached" }), b.waitFor({ state: "detached" })]);
  const words = async (page: typeof one) => (await page.locator(".verdict").first().textContent()) ?? "";
  await expect.poll(async () => (await words(one)) === (await words(two))).toBe(true);
  expect((await server.api("POST", `/v1/decisions/${request}`, { behavior: "allow" })).status).toBe(409);

  // When the window that reads the stream closes, the other goes on.
  await one.close();
  await two.locator(".turn-end").first().waitFor();
  await server.api("POST", `/v1/sessions/${id}/turns`, { prompt: "list files" });
  await two.locator(".turn-end").nth(1).waitFor();
  expect(watch.problems).toEqual([]);
  await context.close();
});
