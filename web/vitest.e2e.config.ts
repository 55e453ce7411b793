import { defineConfig } from "vitest/config";

// In Firefox: what browsers do differently, as layout, keys, streams, the page's policy.
// The rest is the same code in either, and axe looks at the same page; ALL=1 runs it there, too.
const inFirefox = ["claude", "home", "hostile", "keyboard", "midanswer", "phone", "reconnect", "review", "screens", "story", "takeback", "typing", "windows"];
const firefox = process.env.E2E_BROWSER === "firefox";

// A real browser against a real server: see e2e/harness.ts for what is needed.
export default defineConfig({
  test: {
    environment: "node",
    include: firefox && !process.env.ALL ? inFirefox.map((name) => `e2e/${name}.e2e.ts`) : ["e2e/**/*.e2e.ts"],
    // Chromium is asked whether it would install the app; Playwright sees no download of a stock Firefox.
    exclude: firefox ? ["e2e/install.e2e.ts", "e2e/export.e2e.ts"] : [],
    isolate: false, // so that a worker keeps its browser from one file to the next
    maxWorkers: 2, // each has a server and a browser, and waits for them most of the time
    testTimeout: 240_000,
    hookTimeout: 90_000,
    expect: { poll: { timeout: 60_000, interval: 100 } }, // never measured: a busy machine takes its time
    // A browser on a busy machine; what was tried again is printed.
    retry: 1,
  },
});
