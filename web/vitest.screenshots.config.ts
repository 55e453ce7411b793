import { defineConfig } from "vitest/config";

export default defineConfig({ test: { environment: "node", include: ["e2e/screenshots.ts"], testTimeout: 180_000, hookTimeout: 90_000 } });
