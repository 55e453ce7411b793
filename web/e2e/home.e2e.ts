import { join } from "node:path";
import { mkdirSync } from "node:fs";
import { expect, it } from "vitest";
import { live, world } from "./harness";

const { server, open } = world();

it("work starts, is answered, watched and ticked off from Home", async () => {
  // All of Home is in sight: Playwright brings what it clicks in Firefox to the middle.
  const { context, page, watch } = await open({ viewport: { width: 1440, height: 1200 } });
  await live(page);
  const field = page.getByRole("textbox", { name: "What should the agent do?" });
  await field.fill("run: echo from home");
  await field.press("Enter");
  await page.waitForURL("**/s/*");
  await page.locator("[data-request]").waitFor();
  expect(await page.locator("h1.title").innerText()).toBe("run: echo from home"); // the first prompt names it

  await page.goto(server.url);
  const needs = page.getByRole("main").getByRole("region", { name: "Needs you" });
  await needs.getByText("echo from home").first().waitFor();
  await server.session({ title: "long work", policy: "auto-approve" }, "run: sleep 600");
  const working = page.getByRole("main").getByRole("region", { name: "Working" });
  await working.getByText("long work").waitFor();
  await working.getByText("running sleep 600").waitFor();
  await page.reload();
  await working.getByText("running sleep 600").waitFor(); // also for somebody who comes later

  // What is answered here keeps its place while the pointer is on it.
  await server.session({ title: "second" }, "run: echo two");
  await needs.getByText("echo two").first().waitFor();
  const second = needs.locator("[data-request]").nth(1);
  await needs.locator("[data-request]").first().hover();
  const place = (await second.boundingBox())!;
  await needs.locator("[data-request]").first().getByRole("button", { name: /Allow/ }).first().click();
  await needs.getByText("Answered").waitFor();
  await server.session({ title: "third" }, "run: echo three");
  await needs.getByText("1 new").waitFor();
  expect(await second.boundingBox()).toEqual(place);
  await page.mouse.move(5, 5);
  await needs.getByText("echo three").first().waitFor();
  await expect.poll(() => needs.getByText("Answered").count()).toBe(0);

  const done = page.getByRole("main").getByRole("region", { name: "Done since you last looked" });
  await done.getByText("run: echo from home").waitFor();
  await done.getByRole("button", { name: "Mark run: echo from home as seen" }).click();
  await page.mouse.move(5, 5);
  await page.locator("h1").first().evaluate(() => (document.activeElement as HTMLElement).blur());
  await done.waitFor({ state: "detached" });
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("goes on after a question is answered by an option, whose button loses the focus silently", async () => {
  const { context, page, watch } = await open();
  await server.session({ title: "asks" }, "ask me");
  await page.goto(server.url);
  await live(page);
  const needs = page.getByRole("main").getByRole("region", { name: "Needs you" });
  await needs.getByRole("radio", { name: /blue/ }).click();
  await page.mouse.move(5, 5);
  await server.session({ title: "next" }, "run: touch next.txt");
  await needs.getByText("touch next.txt").first().waitFor();
  await needs.getByRole("button", { name: "Why?" }).last().click();
  await needs.getByText("touch next.txt: no rule allows it.").waitFor();
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("the list folds by project; sessions are pinned and put away, one by one and in bulk", async () => {
  const { context, page } = await open();
  const other = join(server.project, "..", "web-client");
  mkdirSync(other, { recursive: true });
  const ids: string[] = [];
  for (const title of ["alpha", "beta", "gamma"]) ids.push(await server.session({ title, cwd: other }));
  await page.reload();
  const side = page.getByRole("navigation", { name: "Sessions" });
  const folder = side.getByRole("region", { name: "web-client" });
  await folder.getByText("gamma").waitFor();
  const act = async (name: string, entry: string | RegExp) => {
    await folder.getByText(name, { exact: true }).hover();
    await side.getByRole("button", { name: `Actions for ${name}` }).click();
    await page.getByRole("menuitem", { name: entry }).click();
  };
  await act("alpha", "Pin");
  await side.getByRole("region", { name: "Pinned" }).getByText("alpha").waitFor();
  await act("beta", "Archive");
  await folder.getByText("beta").waitFor({ state: "detached" });
  await folder.getByRole("button", { name: "web-client", exact: true }).click();
  await folder.getByText("gamma").waitFor({ state: "detached" });
  await page.reload();
  await folder.getByRole("button", { name: /web-client/ }).first().waitFor();
  expect(await folder.getByText("gamma").count()).toBe(0);
  await folder.getByRole("button", { name: "All sessions in web-client" }).click();
  await page.getByRole("menuitem", { name: /Archive all/ }).click();
  await folder.waitFor({ state: "detached" });
  await side.getByRole("button", { name: /Archived/ }).first().click();
  await side.getByRole("region", { name: "Archived" }).getByText("gamma").waitFor();
  await context.close();
});
