import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { live, world } from "./harness";

const { server, open } = world();

/** What happens when somebody comes back to a page. */
const comeBack = (page: Page) => page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));

it("what is pinned, put away and seen is so on every device", async () => {
  const desk = await open();
  const sofa = await open();
  await desk.page.goto(server.url);
  await sofa.page.goto(server.url);
  await live(desk.page);
  await live(sofa.page);
  const one = await server.session({ title: "the cart", policy: "auto-approve" }, "list files");
  await server.session({ title: "the shop" });
  const done = (page: Page) => page.getByRole("region", { name: "Done since you last looked" }).getByText("the cart");
  await done(desk.page).waitFor();
  await done(sofa.page).waitFor();

  await desk.page.getByRole("button", { name: "Mark the cart as seen" }).click();
  const act = async (title: string, entry: string) => {
    await desk.page.getByRole("button", { name: `Actions for ${title}` }).click();
    await desk.page.getByRole("menuitem", { name: entry }).click();
  };
  await act("the cart", "Pin");
  await act("the shop", "Archive");
  await expect.poll(async () => (await server.api<{ pinned: string[]; archived: string[]; seen: object }>("GET", "/v1/marks")).body).toMatchObject({ pinned: [one], archived: [expect.any(String)], seen: { [one]: expect.any(String) } });
  await comeBack(sofa.page);
  await sofa.page.getByRole("region", { name: "Pinned" }).getByText("the cart").waitFor();
  await sofa.page.getByRole("region", { name: "Archived" }).waitFor();
  await done(sofa.page).waitFor({ state: "detached" });
  expect([...desk.watch.problems, ...sofa.watch.problems]).toEqual([]);
  await desk.context.close();
  await sofa.context.close();
});
