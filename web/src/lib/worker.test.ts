import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const code = readFileSync("public/sw.js", "utf8");

/** Runs the service worker, and asks it for an address. */
function ask(caches: unknown, path: string): Promise<string> | undefined {
  let answer: Promise<string> | undefined;
  const self = {
    location: { origin: "https://terret.example" },
    addEventListener(kind: string, take: (event: unknown) => void) {
      if (kind !== "fetch") return;
      take({
        request: { url: `https://terret.example${path}`, method: "GET" },
        respondWith: (p: Promise<Response>) => { answer = p.then((r) => r.text()); },
      });
    },
  };
  new Function("self", "caches", "fetch", code)(self, caches, () => Promise.resolve(new Response("new")));
  return answer;
}

it("uses files that it cannot keep", async () => {
  const full = { match: () => Promise.resolve(undefined), put: () => Promise.reject(new Error("full")), keys: () => Promise.resolve([]) };
  expect(await ask({ open: () => Promise.resolve(full) }, "/assets/a-1.js")).toBe("new");
  expect(await ask({ open: () => Promise.reject(new Error("private")) }, "/assets/a-1.js")).toBe("new");
});

it("keeps files with a hash in their name, and nothing else", async () => {
  const has = { match: () => Promise.resolve(new Response("kept")) };
  expect(await ask({ open: () => Promise.resolve(has) }, "/assets/a-1.js")).toBe("kept");
  expect(ask({ open: () => Promise.resolve(has) }, "/v1/sessions")).toBeUndefined();
});
