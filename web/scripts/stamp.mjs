// Writes dist/sources.sha256: a hash of everything that dist is built from. The
// Go test in web_test.go makes the same hash and fails when dist is stale.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const files = ["index.html", "package-lock.json", "package.json", "tsconfig.json", "vite.config.ts"];
for (const dir of ["public", "src"]) {
  for (const entry of readdirSync(join(root, dir), { recursive: true, withFileTypes: true })) {
    if (entry.isFile() && !/\.test\.tsx?$/.test(entry.name)) {
      files.push(join(entry.parentPath, entry.name).slice(root.length).replaceAll("\\", "/"));
    }
  }
}
const sum = createHash("sha256");
for (const file of files.sort()) {
  const body = readFileSync(join(root, file));
  sum.update(`${file}\n${body.length}\n`).update(body);
}
writeFileSync(join(root, "dist", "sources.sha256"), `${sum.digest("hex")}\n`);
