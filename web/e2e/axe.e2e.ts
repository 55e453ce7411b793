import { AxeBuilder } from "@axe-core/playwright";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch, live, openTab, Server, signedIn } from "./harness";

let browser: Browser;
const server = new Server();
let done = "";

beforeAll(async () => {
  await server.start();
  browser = await launch();
  done = await server.session({ policy: "auto-approve" }, "create a.go containing package main, then run: ls, then list files");
  await server.session({}, "ask me");
  await server.api("PUT", "/v1/rules", { items: [{ effect: "allow", pattern: "Bash(git status *)" }, { effect: "deny", pattern: "Bash(curl *)" }] });
});
afterAll(async () => {
  await browser?.close();
  await server.remove();
});

async function check(page: Page, what: string): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"])
    .disableRules(["region"]) // the bars between the panes are in no landmark
    .analyze();
  const found = violations.map((v) => `${what}: ${v.impact} ${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.target.join(" ")} ${n.failureSummary?.split("\n")[1] ?? ""}`).join(" | ")}`);
  expect(found).toEqual([]);
}

describe.each([["light"], ["dark"], ["contrast"]])("axe finds nothing, %s", (theme) => {
  it.each([["desktop", 1440, 900], ["phone", 390, 844]])("%s", async (size, width, height) => {
    const waiting = await server.session({}, "run: rm -rf .cache"); // its own, since requests run out
    const { context, page } = await signedIn(browser, server, { viewport: { width, height }, reducedMotion: "reduce" });
    await page.evaluate((t) => localStorage.setItem("terret.theme", t), theme);
    const visit = async (path: string, ready: () => Promise<unknown>) => {
      await page.goto(server.url + path);
      if (size === "desktop") await live(page);
      await ready();
      await check(page, `${theme} ${size} ${path}`);
    };
    await visit("/", () => page.getByRole("heading", { name: "Needs you" }).last().waitFor());
    await visit("/usage", () => page.locator("canvas").waitFor());
    await visit("/agents", () => page.getByRole("heading", { name: "What each can do" }).waitFor());
    await visit("/rules", () => page.getByText("Bash(git status *)").first().waitFor());
    await visit("/personas", () => page.getByText("No personas in this folder").waitFor());
    await visit(`/s/${waiting}`, () => page.locator("[data-request]").waitFor());
    await visit(`/s/${done}`, () => page.locator(".turn-end").waitFor());
    if (size === "phone") {
      for (const pane of ["Sessions", "Needs you", "Changes"]) {
        await page.getByRole("navigation", { name: "Panes" }).getByRole("button", { name: pane }).click();
        await check(page, `${theme} ${size} ${pane}`);
      }
    } else {
      for (const tab of ["Changes", "Files", "Plan", "Timeline", "Details"]) {
        await openTab(page, tab);
        await check(page, `${theme} ${size} ${tab}`);
      }
      await page.keyboard.press("Alt+c");
      await page.getByRole("main", { name: "Changes" }).locator(".diff").first().waitFor();
      await check(page, `${theme} ${size} review`);
      await page.keyboard.press("Alt+c");
      await page.locator(".title").click();
      for (const [key, dialog] of [["Alt+n", "New session"], ["Alt+/", "Keyboard"], ["Control+k", "Commands"]] as const) {
        await page.keyboard.press(key);
        await page.getByRole("dialog", { name: dialog }).waitFor();
        await check(page, `${theme} ${size} ${dialog}`);
        await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "detached" });
      }
    }
    await context.close();
  });
});

it("the page to sign in", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(server.url);
  await page.getByRole("heading", { name: "Sign in from your terminal" }).waitFor();
  await check(page, "sign in");
  await context.close();
});
