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

interface Page { url: string; visibilityState?: string }

/** Runs the service worker with these pages open, and hands it an event. */
async function tell(kind: string, event: Record<string, unknown>, open: Page[] = []): Promise<string[]> {
  const did: string[] = [];
  const pages = open.map((p) => ({ ...p, focus: async () => void did.push(`focus ${p.url}`), postMessage: (m: { go: string }) => void did.push(`${p.url} goes to ${m.go}`) }));
  let wait: Promise<unknown> = Promise.resolve();
  const self = {
    location: { origin: "https://terret.example" },
    clients: { matchAll: async () => pages, openWindow: async (path: string) => void did.push(`open ${path}`) },
    registration: { showNotification: async (title: string, o: { body: string; tag: string; data: { path: string } }) => void did.push([title, o.body, o.tag, o.data.path].join("|")) },
    addEventListener: (name: string, take: (e: unknown) => void) => {
      if (name === kind) take({ ...event, waitUntil: (p: Promise<unknown>) => { wait = p; } });
    },
  };
  new Function("self", "caches", "fetch", code)(self, {}, () => undefined);
  await wait;
  return did;
}

const pushed = (...notes: unknown[]) => ({ data: { json: () => ({ notes }) } });
const note = { title: "Fix it", body: "Finished.", tag: "ended-1", path: "/s/1" };

it("shows what is pushed, unless a page that somebody looks at does", async () => {
  expect(await tell("push", pushed(note, { ...note, tag: "b" }))).toEqual(["Fix it|Finished.|ended-1|/s/1", "Fix it|Finished.|b|/s/1"]);
  expect(await tell("push", pushed(note), [{ url: "https://terret.example/", visibilityState: "hidden" }])).toHaveLength(1);
  const looking = [{ url: "https://terret.example/", visibilityState: "visible" }];
  expect(await tell("push", pushed(note), looking)).toEqual([]);
  expect(await tell("push", pushed({ ...note, tag: "test" }), looking)).toHaveLength(1);
  // Browsers want each push to be shown.
  for (const data of [null, { json: () => JSON.parse("{") as unknown }, { json: () => ({}) }]) expect(await tell("push", { data })).toEqual(["Terret|Something needs you.|sum|/"]);
});

it("leads to the session whose notification is clicked", async () => {
  let closed = 0;
  const click = (path: unknown, ...urls: string[]) => tell("notificationclick", { notification: { close: () => void closed++, data: { path } } }, urls.map((url) => ({ url })));
  const home = "https://terret.example/", session = "https://terret.example/s/1";
  expect(await click("/s/1")).toEqual(["open /s/1"]);
  expect(await click("/s/1", home, session)).toEqual([`focus ${session}`]);
  expect(await click("/s/1", home)).toEqual([`${home} goes to /s/1`, `focus ${home}`]);
  for (const path of ["https://evil.example/", "//evil.example", "/s/../x", undefined]) expect(await click(path)).toEqual(["open /"]);
  expect(closed).toBe(7);
});
