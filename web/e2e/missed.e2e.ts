import { expect, it } from "vitest";
import { live, world } from "./harness";

const { server, open } = world();

const state = async (id: string) => (await server.api<{ state: string }>("GET", `/v1/sessions/${id}`)).body.state;

it("a request waits unless a limit is set; what timed out stays marked until it is seen", async () => {
  const { context, page, watch } = await open();
  await live(page);
  const patient = await server.session({ title: "patient" }, "run: echo one");
  const hasty = await server.session({ title: "hasty", timeouts: { permission: 1 } }, "run: echo two");
  const row = page.locator(`[data-session="${hasty}"]`);
  await row.getByText("missed").waitFor();
  expect((await server.api<{ items: { expires_at?: string }[] }>("GET", `/v1/decisions?session=${patient}`)).body.items).toMatchObject([{ state: "open" }]);
  expect(await page.getByRole("timer").count()).toBe(0);
  expect(await state(patient)).toBe("waiting");
  await page.reload();
  await row.getByText("missed").waitFor();

  // Somebody who was away learns of it as well.
  await page.goto("about:blank");
  const later = await server.session({ title: "later", timeouts: { permission: 1 } }, "run: echo three");
  await server.ended(later);
  await page.goto(server.url);
  await page.locator(`[data-session="${later}"]`).getByText("missed").waitFor();

  await row.click();
  await page.getByText("Timed out, not run").first().waitFor();
  await page.mouse.move(700, 300);
  await page.mouse.move(710, 310);
  await row.getByText("missed").waitFor({ state: "detached" });
  await page.locator(`[data-session="${later}"]`).getByText("missed").waitFor();
  expect(watch.problems).toEqual([]);
  await context.close();
});
