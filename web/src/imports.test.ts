import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { expect, it } from "vitest";

const src = resolve("src");
const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((f) => /\.tsx?$/.test(f) && !/\.(test|d)\.tsx?$/.test(f));

/** The files that a file imports when it is loaded. What is imported later, or only for its types, is not among them. */
function imports(file: string): string[] {
  const text = readFileSync(join(src, file), "utf8");
  return [...text.matchAll(/^(?:import|export) (?!type )(?:[^;]*? from )?"(\.[^"]+)";/gm)].flatMap((m) => {
    const path = join(dirname(file), m[1]!);
    return files.filter((f) => f === `${path}.ts` || f === `${path}.tsx`);
  });
}

it("no file imports itself through others", () => {
  const done = new Set<string>();
  const circles: string[] = [];
  const walk = (file: string, way: string[]) => {
    if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].join(" > "));
    if (done.has(file) || way.includes(file)) return;
    for (const next of imports(file)) walk(next, [...way, file]);
    done.add(file);
  };
  for (const file of files) walk(file, []);
  expect(files.length).toBeGreaterThan(100);
  expect(circles).toEqual([]);
});
