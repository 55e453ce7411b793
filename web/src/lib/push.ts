// Notifications while no page is open: the browser's own push service wakes the service
// worker, which shows them. Loaded where it is needed only.

import { call, query } from "../api/http";
import type { PushState } from "../api/types";
import { useSettings } from "./state";

/** Why this browser cannot be told while the page is closed; empty if it can. */
export function whyNot(): string {
  if (!window.isSecureContext) return "Browsers allow this only over HTTPS. Open Terret at an https address: see terret serve --help, --tls-cert, or put a proxy with HTTPS in front of it.";
  if (!("serviceWorker" in navigator) || !("PushManager" in window) || !("Notification" in window)) return "This browser cannot do it. On an iPhone or iPad, add Terret to the Home Screen first, and open it there.";
  return "";
}

export const getPush = (signal?: AbortSignal) => call<PushState>("/v1/push", signal ? { signal } : {});

const bytes = (base64url: string) => Uint8Array.from(atob(base64url.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));

async function manager(): Promise<PushManager> {
  await navigator.serviceWorker.register("/sw.js");
  return (await navigator.serviceWorker.ready).pushManager;
}

/** The server's name for a subscription. */
async function idOf(subscription: PushSubscription): Promise<string> {
  const sum = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(subscription.endpoint));
  return Array.from(new Uint8Array(sum), (b) => b.toString(16).padStart(2, "0")).join("");
}

function sameKey(subscription: PushSubscription, key: Uint8Array): boolean {
  const own = subscription.options.applicationServerKey;
  return !own || new Uint8Array(own).every((b, i) => b === key[i]);
}

/** Subscribes with the server's key, and tells the server. */
async function subscribe(): Promise<PushSubscription> {
  const push = await manager();
  const key = bytes((await getPush()).public_key);
  let subscription = await push.getSubscription();
  if (subscription && !sameKey(subscription, key)) { // of another server at this address
    await subscription.unsubscribe();
    subscription = null;
  }
  subscription ??= await push.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  const { endpoint, keys } = subscription.toJSON();
  await call("/v1/push", { method: "PUT", body: { endpoint, keys: { p256dh: keys?.p256dh, auth: keys?.auth } } });
  return subscription;
}

/** To be called by a click: asks the person, subscribes, and sends a test. */
export async function turnOnPush(): Promise<void> {
  if ((await Notification.requestPermission()) !== "granted") throw new Error("The browser does not allow notifications. Allow them for this site in its settings.");
  const subscription = await subscribe();
  try {
    await testPush();
  } catch (cause) {
    await forget(subscription).catch(() => undefined); // the first problem counts
    throw cause;
  }
  useSettings.setState({ notify: true, push: true });
}

export async function testPush(): Promise<void> {
  const subscription = await (await manager()).getSubscription();
  if (!subscription) throw new Error("This browser has ended its subscription. Turn the switch off and on again.");
  await call("/v1/push/test", { method: "POST", body: { id: await idOf(subscription) } });
}

async function forget(subscription: PushSubscription): Promise<void> {
  const id = await idOf(subscription);
  await subscription.unsubscribe();
  await call(`/v1/push${query({ id })}`, { method: "DELETE" });
}

export async function turnOffPush(): Promise<void> {
  useSettings.setState({ push: false });
  const subscription = await (await manager()).getSubscription();
  if (subscription) await forget(subscription);
}

/** Keeps the subscription alive: browsers and servers forget some, and tokens end. */
export async function renewPush(): Promise<void> {
  if (whyNot() || Notification.permission !== "granted") return void useSettings.setState({ push: false });
  await subscribe();
}
