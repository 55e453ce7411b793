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
  const cache = await caches.open(kept);
  const found = await cache.match(request);
  if (found) return found;
  const answer = await fetch(request);
  if (answer.ok) {
    await cache.put(request, answer.clone());
    const all = await cache.keys(); // in the order in which they came
    await Promise.all(all.slice(0, Math.max(0, all.length - most)).map((old) => cache.delete(old)));
  }
  return answer;
}
