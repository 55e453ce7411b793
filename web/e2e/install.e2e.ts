import { expect, it } from "vitest";
import { live, world } from "./harness";

const { server, open } = world();

it("can be installed as an app, which keeps its own files and no answers of the server", async () => {
  const { context, page, watch } = await open({ serviceWorkers: "allow" });
  await page.goto(server.url);
  await live(page);
  // What the browser itself has to say about the manifest and whether it would install it.
  const devtools = await context.newCDPSession(page);
  const { url, data, errors } = await devtools.send("Page.getAppManifest");
  expect([url, errors]).toEqual([`${server.url}/manifest.webmanifest`, []]);
  const { installabilityErrors } = await devtools.send("Page.getInstallabilityErrors");
  expect(installabilityErrors.map((e) => e.errorId).filter((id) => id !== "in-incognito")).toEqual([]); // as all browsers of tests are
  const manifest = JSON.parse(data ?? "") as { display: string; start_url: string; icons: { src: string; sizes: string; type: string }[] };
  expect(manifest).toMatchObject({ display: "standalone", start_url: "/" });
  for (const icon of manifest.icons) {
    const size = await page.evaluate(async (src) => { const i = new Image(); i.src = src; await i.decode(); return `${i.naturalWidth}x${i.naturalHeight}`; }, icon.src);
    if (icon.sizes !== "any") expect(`${icon.src} ${size}`).toBe(`${icon.src} ${icon.sizes}`);
  }

  await page.evaluate(async () => { await navigator.serviceWorker.ready; });
  await page.reload();
  await live(page);
  await page.getByRole("navigation", { name: "Sessions" }).getByRole("link", { name: "Settings" }).click();
  await page.getByRole("heading", { name: "Settings" }).waitFor();
  const kept = await page.evaluate(async () => {
    const names = await caches.keys();
    return (await Promise.all(names.map(async (n) => (await (await caches.open(n)).keys()).map((r) => new URL(r.url).pathname)))).flat();
  });
  expect(kept.length).toBeGreaterThan(3);
  expect(kept.filter((path) => !/^\/assets\/[\w.-]+-[\w-]{8}\.\w+$/.test(path))).toEqual([]);
  // Pages and answers come from the server: without it there are none.
  await server.stop();
  expect(await page.evaluate(() => fetch("/v1/me").then(() => "answered", () => "unreachable"))).toBe("unreachable");
  await expect(page.reload()).rejects.toThrow("ERR_CONNECTION_REFUSED");
  expect(watch.problems).toEqual([]);
  await context.close();
});
