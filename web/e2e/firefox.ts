// A stock Firefox for Playwright: it needs no build of its own, as Debian's will do.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Browser, firefox } from "playwright-core";
import { removeFolder } from "./remove";

/** What Playwright cannot tell a page, and a Firefox without a screen has none of: a mouse, and nothing that moves. */
const desktop = { "ui.primaryPointerCapabilities": 6, "ui.allPointerCapabilities": 6, "ui.prefersReducedMotion": 1 };

/** FIREFOX names another one than firefox-esr. What it writes is in a folder that goes with it. */
export async function launchFirefox(prefs: Record<string, number> = {}): Promise<Browser> {
  const home = mkdtempSync(join(tmpdir(), "terret-e2e-firefox-"));
  const clean = () => removeFolder(home);
  process.once("exit", () => rmSync(home, { recursive: true, force: true })); // the browser of a worker ends with it
  const started = firefox.launch({
    channel: "moz-firefox", // spoken to by WebDriver BiDi
    executablePath: resolve("e2e/bidi.mjs"),
    env: { PATH: process.env.PATH!, HOME: home, TMPDIR: home, FIREFOX: process.env.FIREFOX || "firefox-esr", MOZ_HEADLESS: "1", LANG: "C.UTF-8" },
    firefoxUserPrefs: { ...desktop, ...prefs },
  });
  const browser = await started.catch(async (e) => { await clean(); throw e; });
  const close = browser.close.bind(browser);
  browser.close = async () => { await close(); await clean(); }; // by then it writes no more
  const make = browser.newContext.bind(browser);
  browser.newContext = async (options) => {
    const context = await make({ ...options, permissions: undefined, isMobile: undefined });
    await context.addInitScript(adapt);
    return context;
  };
  return browser;
}

/** Runs in each page before anything else. */
function adapt(): void {
  // Playwright sets the value of a field behind React's back, which then sees no change:
  // here text comes in as it does from a keyboard.
  Object.defineProperty(window, "__pw_bidiInsertText", { get: () => (text: string) => void document.execCommand("insertText", false, text), set: () => {} });
  // BiDi does not tell of what the policy of the page forbids.
  document.addEventListener("securitypolicyviolation", (e) => console.error(`${e.violatedDirective} forbids ${e.blockedURI}`));
}
