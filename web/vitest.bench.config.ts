import { defineConfig } from "vitest/config";

export default defineConfig({ test: { environment: "node", include: ["e2e/bench.ts"], testTimeout: 600_000, hookTimeout: 300_000 } });
