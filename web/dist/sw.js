// The service worker of the installed app. It keeps files whose name holds a hash of
// what they hold, and nothing else: pages and answers of the API always come from the
// server. It also shows what the server pushes while no page is looked at.
const kept = "terret-assets";
const most = 200; // files of this and older versions

self.addEventListener("install", () => self.skipWaiting());

self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || url.origin !== self.location.origin || !url.pathname.startsWith("/assets/")) return;
  event.respondWith(asset(event.request));
});

async function asset(request) {
  const cache = await caches.open(kept).catch(() => null); // some browsers let nothing be kept
  const found = await cache?.match(request).catch(() => null);
  if (found) return found;
  const answer = await fetch(request);
  // A file that cannot be kept, as on a full disk, is used all the same.
  if (cache && answer.ok) await keep(cache, request, answer.clone()).catch(() => undefined);
  return answer;
}

async function keep(cache, request, answer) {
  await cache.put(request, answer);
  const all = await cache.keys(); // in the order in which they came
  await Promise.all(all.slice(0, Math.max(0, all.length - most)).map((old) => cache.delete(old)));
}

self.addEventListener("push", (event) => event.waitUntil(show(event.data)));

function pages() {
  return self.clients.matchAll({ type: "window", includeUncontrolled: true });
}

/** What a push says. Browsers want each to be shown, so one that cannot be read is, too. */
function notesOf(data) {
  try {
    const { notes } = data.json();
    if (Array.isArray(notes) && notes.length > 0) return notes;
  } catch {
    // Not ours, or empty.
  }
  return [{ title: "Terret", body: "Something needs you.", tag: "sum", path: "/" }];
}

async function show(data) {
  const looking = (await pages()).some((page) => page.visibilityState === "visible"); // it shows the same by itself
  const notes = notesOf(data).filter((note) => !looking || note.tag === "test");
  await Promise.all(notes.map(({ title, body, tag, path }) =>
    self.registration.showNotification(String(title), { body: String(body ?? ""), tag: String(tag), renotify: true, icon: "/icon-192.png", data: { path: String(path) } })));
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(lead(event.notification.data?.path));
});

/** Shows a page that is there, at its place if one is, or opens one. */
async function lead(path) {
  if (!/^\/(s\/[\w-]+|settings)?$/.test(path)) path = "/";
  const open = await pages();
  const there = open.find((page) => new URL(page.url).pathname === path);
  const page = there ?? open[0];
  if (!page) return void (await self.clients.openWindow(path));
  if (!there) page.postMessage({ go: path });
  await page.focus();
}
