import { defineConfig } from "vitest/config";

// A real browser against a real server: see e2e/harness.ts for what is needed.
export default defineConfig({
  test: {
    environment: "node",
    include: ["e2e/**/*.e2e.ts"],
    maxWorkers: 2, // each has a server and a browser, and waits for them most of the time
    testTimeout: 240_000,
    hookTimeout: 90_000,
    expect: { poll: { timeout: 60_000, interval: 100 } }, // never measured: a busy machine takes its time
    // A browser on a busy machine; what was tried again is printed.
    retry: 1,
  },
});
