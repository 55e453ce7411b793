import { expect, it } from "vitest";
import { live, world } from "./harness";

const { server, open } = world();

it("a missing session and an unknown page keep the rest of the window", async () => {
  const { context, page } = await open();
  await live(page);
  for (const [path, words] of [["/s/01a1e06c-d13d-722b-acab-f8c90c06d7bf", "This session cannot be shown"], ["/nowhere", "There is no such page"]]) {
    await page.goto(server.url + path);
    await page.getByText(words!).waitFor();
    await page.getByRole("navigation", { name: "Sessions" }).waitFor();
  }
  await context.close();
});

it("searching filters what needs you, too", async () => {
  const { context, page } = await open();
  for (const title of ["apples", "pears"]) await server.session({ title }, `run: echo ${title}`);
  await page.goto(`${server.url}/usage`);
  const needs = page.getByRole("region", { name: "Needs you" });
  await needs.getByText("echo pears").waitFor();
  await needs.getByText("echo apples").waitFor();
  await page.getByRole("searchbox", { name: "Search sessions and messages" }).fill("apples");
  await needs.getByText("echo pears").waitFor({ state: "detached" });
  expect(await needs.getByText("echo apples").count()).toBe(1);
  await context.close();
});

it("Deny stands apart from Allow and never below it", async () => {
  for (const width of [1440, 1024, 800, 390]) {
    const { context, page } = await open({ viewport: { width, height: 900 } });
    const id = await server.session({}, "run: echo one");
    await page.goto(`${server.url}/s/${id}`);
    const card = page.locator("[data-request]");
    const allow = (await card.getByRole("button", { name: /Allow/ }).first().boundingBox())!;
    const deny = (await card.getByRole("button", { name: "Deny…" }).boundingBox())!;
    expect(deny.x, `at ${width}`).toBeGreaterThan(allow.x + allow.width);
    expect(deny.y, `at ${width}`).toBeLessThan(allow.y + allow.height);
    const box = (await card.boundingBox())!;
    expect(deny.x + deny.width, `at ${width}`).toBeLessThan(box.x + box.width);
    await context.close();
  }
});
