// The service worker of the installed app. It keeps files whose name holds a hash of
// what they hold, and nothing else: pages and answers of the API always come from the
// server.
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
