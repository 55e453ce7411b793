import type { CDPSession, Page } from "playwright-core";
import { expect, it } from "vitest";
import { live, world } from "./harness";

const { server, open } = world({ script: { turns: [[{ text: "Done." }]] } });

const patience = { timeout: 60_000 };

/** Stands for the browser's push service, which tests cannot reach. */
function stub(): void {
  const key = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"; // of RFC 8291
  const has = () => localStorage.getItem("stub.push") === "on";
  const subscription = {
    endpoint: "https://push.invalid/send/1", options: { applicationServerKey: null },
    toJSON: () => ({ endpoint: "https://push.invalid/send/1", expirationTime: null, keys: { p256dh: key, auth: "BTBZMqHH6r4Tts7J_aSIgg" } }),
    unsubscribe: async () => { localStorage.removeItem("stub.push"); return true; },
  };
  PushManager.prototype.getSubscription = async () => (has() ? subscription : null) as PushSubscription | null;
  PushManager.prototype.subscribe = async (options) => {
    if (!options?.userVisibleOnly || (options.applicationServerKey as Uint8Array).length !== 65) throw new Error("wrong options");
    localStorage.setItem("stub.push", "on");
    return subscription as unknown as PushSubscription;
  };
  const ask = Notification.requestPermission.bind(Notification);
  Notification.requestPermission = async () => { localStorage.setItem("stub.asked", "yes"); return ask(); };
}

const settings = async (page: Page) => {
  await page.getByRole("navigation", { name: "Sessions" }).getByRole("link", { name: "Settings" }).click();
  return page.getByRole("checkbox", { name: /^Also when this page is closed/ });
};
const kept = async () => (await server.api<{ subscriptions: unknown[] }>("GET", "/v1/push")).body.subscriptions.length;

it("Settings turn push notifications on by a click, and off again", async () => {
  const { context, page } = await open({ serviceWorkers: "allow" });
  await context.grantPermissions(["notifications"], { origin: server.url });
  await context.addInitScript(stub);
  await page.goto(server.url);
  await live(page);
  const box = await settings(page);
  await box.waitFor();
  expect(await page.evaluate(() => localStorage.getItem("stub.asked"))).toBeNull();
  // The server cannot reach that service: it says so, and nothing stays behind.
  await box.click();
  await page.getByText("It was not turned on", { exact: true }).waitFor();
  await page.getByText(/^the notification was not sent: the push service push\.invalid could not be reached/).waitFor();
  expect([await box.isChecked(), await kept(), await page.evaluate(() => localStorage.getItem("stub.push"))]).toEqual([false, 0, null]);
  const tests: unknown[] = [];
  await page.route("**/v1/push/test", (route) => { tests.push(route.request().postDataJSON()); return route.fulfill({ status: 204 }); });
  await box.click();
  await page.getByRole("button", { name: "Send a test" }).waitFor();
  expect([await box.isChecked(), await page.getByRole("checkbox", { name: /^Notifications/ }).isChecked(), await kept(), tests.length]).toEqual([true, true, 1, 1]);
  await page.getByRole("button", { name: "Send a test" }).click();
  await page.getByText("Sent. It shows in a moment.", { exact: true }).waitFor();
  expect(tests[1]).toEqual({ id: (await server.api<{ subscriptions: { id: string }[] }>("GET", "/v1/push")).body.subscriptions[0]!.id });
  // What the server has forgotten, the next visit tells it again.
  expect((await server.api("DELETE", `/v1/push?id=${(tests[1] as { id: string }).id}`)).status).toBe(204);
  await page.reload();
  await expect.poll(kept, patience).toBe(1);
  // Without notifications there are none of this kind either.
  await page.getByRole("checkbox", { name: /^Notifications/ }).click();
  await expect.poll(kept, patience).toBe(0);
  expect([await box.isChecked(), await page.evaluate(() => localStorage.getItem("stub.push"))]).toEqual([false, null]);
  await context.close();
});

it("says why where it cannot work", async () => {
  const { context, page } = await open();
  await page.addInitScript(() => Object.defineProperty(window, "isSecureContext", { value: false }));
  await page.goto(`${server.url}/settings`);
  await page.getByText("Browsers allow this only over HTTPS.").waitFor();
  expect(await page.getByRole("checkbox", { name: /^Also when this page is closed/ }).count()).toBe(0);
  await context.close();
});

/** Delivers pushes to the service worker as the browser does. */
async function deliver(devtools: CDPSession, registrationId: string, ...notes: unknown[]): Promise<void> {
  await devtools.send("ServiceWorker.deliverPushMessage", { origin: server.url, registrationId, data: JSON.stringify({ notes }) });
}

it("the service worker shows what is pushed while nobody looks, and leads to the session", async () => {
  const { context, page } = await open({ serviceWorkers: "allow" });
  await context.grantPermissions(["notifications"], { origin: server.url });
  const devtools = await context.newCDPSession(page);
  const registered = new Promise<string>((done) =>
    devtools.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => registrations[0] && done(registrations[0].registrationId)));
  await devtools.send("ServiceWorker.enable");
  await page.goto(server.url);
  await live(page);
  await page.evaluate(async () => { await navigator.serviceWorker.ready; });
  const registration = await registered;
  // The browser closes notifications after a while: what was shown is noted.
  const worker = context.serviceWorkers()[0]!;
  await worker.evaluate(`
    const show = self.registration.showNotification.bind(self.registration);
    self.shown = [];
    self.registration.showNotification = async (title, options) => {
      await show(title, options);
      self.shown.push([title, options.body, options.tag].join("|"));
    };`);
  const shown = () => worker.evaluate("self.shown");
  const id = await server.session({ title: "Fix the build", agent: "mock" }, "go on");
  const note = { title: "Fix the build", body: "Finished.", tag: `ended-${id}`, path: `/s/${id}` };

  // A page that somebody looks at shows it by itself; a test is shown all the same.
  await deliver(devtools, registration, note);
  await deliver(devtools, registration, { ...note, tag: "test" });
  await expect.poll(shown, patience).toEqual(["Fix the build|Finished.|test"]);
  // Headless browsers have no window to hide, and only a person's click may focus one.
  await worker.evaluate(`
    Object.defineProperty(WindowClient.prototype, "visibilityState", { get: () => "hidden" });
    WindowClient.prototype.focus = async function () { return this; };
    self.opened = [];
    self.clients.openWindow = async (url) => { self.opened.push(url); return null; };`);
  await deliver(devtools, registration, note);
  await deliver(devtools, registration, { ...note, body: "Wants to run a command.", tag: `needs-${id}` });
  await expect.poll(shown, patience).toEqual(["Fix the build|Finished.|test", `Fix the build|Finished.|ended-${id}`, `Fix the build|Wants to run a command.|needs-${id}`]);

  const click = () => worker.evaluate(`(async () => {
    await self.registration.showNotification("Fix the build", { tag: "clicked", data: { path: ${JSON.stringify(note.path)} } });
    const [notification] = await self.registration.getNotifications({ tag: "clicked" });
    self.dispatchEvent(new NotificationEvent("notificationclick", { notification }));
  })()`);
  await click();
  await page.waitForURL(`${server.url}/s/${id}`);
  await page.getByRole("main").getByText("Done.").first().waitFor();
  await page.close();
  // A page that is closed counts for a moment longer.
  await expect.poll(() => worker.evaluate(`self.clients.matchAll({ type: "window", includeUncontrolled: true }).then((all) => all.length)`), patience).toBe(0);
  await click();
  await expect.poll(() => worker.evaluate("self.opened"), patience).toEqual([`/s/${id}`]);
  await context.close();
});

it("tells nothing twice: pages leave it to the service worker, and what one shows is seen everywhere", async () => {
  const { context, page } = await open();
  await page.addInitScript(() => {
    const told: string[] = [];
    Object.assign(window, { told, Notification: class { static permission = "granted"; constructor(title: string) { told.push(title); } close() {} } });
    Object.defineProperty(document, "hidden", { get: () => sessionStorage.getItem("hidden") === "yes" });
  });
  const told = () => page.evaluate(() => (window as unknown as { told: string[] }).told.length);
  for (const push of [false, true]) {
    await page.evaluate((push) => {
      localStorage.setItem("terret.settings", JSON.stringify({ state: { notify: true, push }, version: 3 }));
      sessionStorage.setItem("hidden", "yes");
    }, push);
    await page.reload();
    await live(page);
    const away = await server.session({ title: "far away", agent: "mock" }, "go on");
    await page.locator(`[data-session="${away}"]`).getByText("finished").waitFor();
    if (!push) await expect.poll(told, patience).toBe(1);
    else expect(await told()).toBe(0);
  }
  // The server pushes the end of a turn to no device if a page shows it.
  await page.evaluate(() => sessionStorage.removeItem("hidden"));
  const id = await server.session({ agent: "mock" });
  await page.goto(`${server.url}/s/${id}`);
  await live(page);
  expect((await server.api("POST", `/v1/sessions/${id}/turns`, { prompt: "go on" })).status).toBe(202);
  await expect.poll(async () => (await server.api<{ seen: Record<string, string> }>("GET", "/v1/marks")).body.seen[id], patience).toBeTruthy();
  await context.close();
});
