// Makes docs/screenshots: the main states, desktop and phone, light and dark, with the real
// Claude Code. Run by `make screenshots`; look at what it made before you commit it.

import { mkdirSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, it } from "vitest";
import { launch, live, openTab, programs, Server, signedIn } from "./harness";
import { furnish, model, prompts } from "./screenshots.script";

const out = new URL("../../docs/screenshots/", import.meta.url).pathname;
const server = new Server({ model });
let browser: Browser;
const ids: Record<string, string> = {};

beforeAll(async () => {
  mkdirSync(out, { recursive: true });
  furnish(server.project);
  await server.start();
  browser = await launch();
  await server.api("PUT", "/v1/rules", {
    items: [{ effect: "allow", pattern: "Bash(git status *)" }, { effect: "allow", pattern: "Bash(go test *)" }, { effect: "deny", pattern: "Bash(curl *)" }],
  });
  const begin = (title: string, prompt: string, more = {}) => server.session({ agent: "claude", policy: "accept-edits", title, ...more }, prompt);
  ids.done = await begin("Health endpoint", prompts.done, { persona: "TESTER" });
  ids.failed = await begin("Upgrade to Go 1.27", prompts.failed);
  ids.question = await begin("Where sessions are kept", prompts.question);
  ids.flaky = await begin("Fix the flaky login test", prompts.flaky, { persona: "TESTER" });
  // Go compiles its library first, in the home of this server.
  const state = async (id: string) => (await server.api<{ state: string; open_requests: number }>("GET", `/v1/sessions/${id}`)).body;
  while ((await state(ids.done)).state === "busy" || (await state(ids.flaky)).open_requests === 0) await new Promise((done) => setTimeout(done, 200));
}, 300_000);
afterAll(async () => {
  await browser?.close();
  await server.remove();
});

const settle = (page: Page) => page.waitForTimeout(600); // lazy parts and fonts

describe.each(["light", "dark"] as const)("%s", (theme) => {
  it("desktop", async () => {
    const { page, context } = await signedIn(browser, server, { viewport: { width: 1440, height: 900 }, colorScheme: theme, reducedMotion: "reduce" });
    const shoot = async (name: string) => {
      await settle(page);
      await page.screenshot({ path: `${out}desktop-${theme}-${name}.png` });
    };
    const open = async (path: string) => {
      await page.goto(server.url + path);
      await live(page);
    };
    await open("/agents");
    await page.locator(".skeletons").first().waitFor({ state: "detached" }); // what they can do is known then
    await open(`/s/${ids.flaky}`);
    await page.locator("[data-request]").waitFor();
    await shoot("permission");
    await open(`/s/${ids.done}`);
    await page.locator(".turn-end").waitFor();
    await openTab(page, "Changes");
    await shoot("changes");
    await open(`/s/${ids.question}`);
    await page.locator("[data-request]").waitFor();
    await openTab(page, "Files");
    await shoot("question");
    await open(`/s/${ids.failed}`);
    await page.locator(".turn-error").waitFor();
    await openTab(page, "Details");
    await shoot("error");
    for (const name of ["usage", "agents", "rules", "personas"]) {
      await open(`/${name}`);
      await page.locator(".skeletons").first().waitFor({ state: "detached" }); // agents are asked for their version
      await page.getByText(programs).evaluateAll((all, dir) => { for (const el of all) el.textContent = el.textContent!.replace(dir, "/usr/local/bin"); }, programs); // where this machine has them
      await shoot(name);
    }
    await open("/");
    await shoot("home");
    await page.keyboard.press("Alt+n");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "Folder" }).fill(server.project);
    await dialog.getByLabel("Persona").selectOption("TESTER");
    await shoot("new-session");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").waitFor();
    await shoot("palette");
    await context.close();
  });

  it("phone", async () => {
    const { page, context } = await signedIn(browser, server, {
      viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true, colorScheme: theme, reducedMotion: "reduce",
    });
    const shoot = async (name: string) => {
      await settle(page);
      await page.screenshot({ path: `${out}phone-${theme}-${name}.png` });
    };
    const bar = page.getByRole("navigation", { name: "Panes" });
    await page.goto(`${server.url}/s/${ids.flaky}`);
    await page.locator("[data-request]").waitFor();
    await shoot("permission");
    await bar.getByRole("button", { name: /Needs you/ }).tap();
    await shoot("needs-you");
    await bar.getByRole("button", { name: "Sessions" }).tap();
    await shoot("sessions");
    await page.goto(`${server.url}/s/${ids.done}`);
    await page.locator(".turn-end").waitFor();
    await shoot("conversation");
    await bar.getByRole("button", { name: "Changes" }).tap();
    await shoot("changes");
    await context.close();
  });
});
