import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { live, world } from "./harness";

// Sessions that are not among those of the list, which has only the newest.

const script = { turns: [[{ text: "old words" }], [{ tool: { name: "Bash", input: { command: "make" }, ask: true } }]] };

const { server, open } = world({ script });

/** Makes the list end after the newest session, as it does after five hundred; still keeps its first answer. */
async function shorten(page: Page, still = false): Promise<void> {
  let first: string | undefined;
  await page.route(/\/v1\/sessions\?limit=500$/, async (route) => {
    if (still && first) return route.fulfill({ body: first, contentType: "application/json" });
    const answer = await route.fetch({ url: route.request().url().replace("limit=500", "limit=1") });
    first = await answer.text();
    return route.fulfill({ response: answer, body: first });
  });
}

async function twoSessions(): Promise<string> {
  const old = await server.session({ agent: "mock", title: "the old one" }, "go");
  await server.ended(old);
  await server.session({ agent: "mock", title: "the new one" });
  return old;
}

it("a session beyond the end of the list opens by its link and from the search", async () => {
  const old = await twoSessions();
  const { context, page, watch } = await open();
  await shorten(page);
  await page.goto(`${server.url}/s/${old}`);
  await page.getByText("old words").waitFor();
  expect(await page.locator("[data-session]").count()).toBe(1);
  await page.getByRole("heading", { name: "the old one" }).waitFor();

  await page.goto(server.url);
  await live(page);
  await page.getByRole("searchbox").fill("old words");
  await page.getByRole("region", { name: "Messages found" }).getByRole("link").first().click();
  await page.locator(".said").getByText("old words").waitFor();

  await page.goto(`${server.url}/s/01a1-nothing`);
  await page.getByText("This session cannot be shown").waitFor();
  expect(watch.problems).toEqual([]);
  await page.unrouteAll({ behavior: "wait" }); // an answer that is on its way outlives the page otherwise
  await context.close();
});

it("a pinned one is in the list", async () => {
  const old = await twoSessions();
  await server.api("PATCH", "/v1/marks", { pin: [old] });
  const { context, page, watch } = await open();
  await shorten(page);
  await page.goto(server.url);
  const pinned = page.getByRole("region", { name: "Pinned" }).getByText("the old one");
  await pinned.waitFor();
  await server.api("PATCH", `/v1/sessions/${old}`, { title: "renamed" });
  await page.getByRole("region", { name: "Pinned" }).getByText("renamed").waitFor();
  expect(watch.problems).toEqual([]);
  await page.unrouteAll({ behavior: "wait" });
  await context.close();
});

it("what happens to it is seen there, and keys act on it", async () => {
  const old = await twoSessions();
  const { context, page, watch } = await open();
  await shorten(page, true);
  await page.goto(`${server.url}/s/${old}`);
  await live(page);
  await server.api("PATCH", `/v1/sessions/${old}`, { title: "another name" });
  await page.getByRole("heading", { name: "another name" }).waitFor();
  await page.getByRole("textbox", { name: "Message" }).fill("again");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Stop" }).waitFor();
  await page.locator("[data-request]").first().waitFor();
  await page.locator(".bar .dot.needs").waitFor();
  // Escape stops the turn of the session that is shown.
  await page.getByRole("textbox", { name: "Message" }).focus();
  await page.keyboard.press("Escape");
  await page.getByText("Stopped", { exact: true }).waitFor();
  await page.locator(".bar .dot.idle").waitFor();
  expect(watch.problems).toEqual([]);
  await page.unrouteAll({ behavior: "wait" });
  await context.close();
});
