/// <reference types="vitest/config" />
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const server = process.env.TERRET_ADDR ?? "http://127.0.0.1:7433";

export default defineConfig({
  plugins: [react()],
  resolve: {
    // Parts of libraries that must not act here; each file says why.
    alias: {
      "rehype-raw": here("./src/lib/streamdown-parts.ts"),
      "tailwind-merge": here("./src/lib/streamdown-parts.ts"),
      "react-remove-scroll": here("./src/lib/remove-scroll.tsx"),
    },
  },
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: true,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 900,
  },
  server: { proxy: Object.fromEntries(["/v1", "/api", "/healthz"].map((p) => [p, { target: server }])) },
  test: { environment: "node", include: ["src/**/*.test.{ts,tsx}"] },
});
