import { expect, it } from "vitest";
import { live, world } from "./harness";

const { server, open } = world();

it("the agent that was chosen is shown and starts while the list of agents has not come", async () => {
  const { context, page, watch } = await open();
  await live(page);
  await page.getByLabel("Agent", { exact: true }).selectOption("native");
  let go = () => {};
  const held = new Promise<void>((done) => (go = done));
  await page.route(/\/v1\/agents(\?|$)/, async (route) => {
    await held;
    await route.continue();
  });
  await page.reload();
  await live(page);
  expect(await page.getByLabel("Agent", { exact: true }).inputValue()).toBe("native");
  const asked = page.waitForRequest((r) => r.method() === "POST" && r.url().endsWith("/v1/sessions"));
  const field = page.getByRole("textbox", { name: "What should the agent do?" });
  await field.fill("say hello");
  await field.press("Enter");
  expect((await asked).postDataJSON()).toMatchObject({ agent: "native", policy: "ask" });
  go();
  await page.waitForURL("**/s/*");
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("the picker has the agents although their programs do not answer", async () => {
  const { context, page } = await open();
  await page.route(/\/v1\/agents$/, () => {}); // never
  await page.reload();
  await live(page);
  const agent = page.getByLabel("Agent", { exact: true });
  await agent.getByText("Demo (built in)").waitFor({ state: "attached" });
  await agent.getByText("Looking for agents…").waitFor({ state: "attached" });
  await context.close();
});

it("who sends while reading further up sees what was sent, and what comes of it", async () => {
  const { context, page } = await open();
  const id = await server.session({ policy: "auto-approve" }, "run: seq 1 5");
  await server.ended(id);
  for (let i = 2; i <= 12; i++) {
    await server.api("POST", `/v1/sessions/${id}/turns`, { prompt: `say message ${i}` });
    await server.ended(id, i);
  }
  await page.goto(`${server.url}/s/${id}`);
  const scroll = page.getByRole("region", { name: "Conversation" });
  await scroll.getByText("say message 12").first().waitFor();
  await scroll.evaluate((el) => { el.scrollTop = 0; el.dispatchEvent(new Event("scroll")); });
  await page.getByRole("button", { name: "Latest" }).waitFor();
  await page.getByRole("textbox", { name: "Message" }).fill("say the last words");
  await page.keyboard.press("Enter");
  await scroll.getByText("say the last words").first().waitFor();
  await expect.poll(() => scroll.evaluate((el) => el.scrollHeight - el.scrollTop - el.clientHeight)).toBeLessThan(60);
  await context.close();
});

it("the keys of home's cards act once one has the focus, which a key gives", async () => {
  const { context, page, watch } = await open();
  await server.session({ title: "asks" }, "run: echo from the card");
  await page.goto(server.url);
  await live(page);
  const card = page.getByRole("main").locator("[data-request]").first();
  await card.waitFor();
  await expect.poll(() => card.locator(".answers kbd").first().isVisible()).toBe(false);
  await page.keyboard.press("Alt+g");
  await expect.poll(() => card.evaluate((el) => el === document.activeElement)).toBe(true);
  expect(new URL(page.url()).pathname).toBe("/");
  expect(await card.locator(".answers kbd").first().isVisible()).toBe(true);
  await page.getByRole("textbox", { name: "What should the agent do?" }).focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  // The card goes as soon as nothing holds the list.
  await expect.poll(async () => (await server.api<{ items: unknown[] }>("GET", "/v1/decisions?state=open")).body.items.length).toBe(0);
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("an earlier answer of full auto is not the next session's mode", async () => {
  const { context, page } = await open();
  await page.evaluate(() => {
    const kept = JSON.parse(localStorage.getItem("terret.settings") ?? '{"state":{}}');
    localStorage.setItem("terret.settings", JSON.stringify({ state: { ...kept.state, lastPolicy: "auto-approve" }, version: 3 }));
  });
  await page.reload();
  await live(page);
  expect(await page.getByLabel("Mode", { exact: true }).inputValue()).toBe("ask");
  await page.getByLabel("Mode", { exact: true }).selectOption("auto-approve");
  await page.getByRole("button", { name: "Start in full auto" }).waitFor();
  await context.close();
});
