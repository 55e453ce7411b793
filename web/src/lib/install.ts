// Terret as an app of its own: the service worker, and the browser's offer to install.

import { create } from "zustand";

interface Offer extends Event {
  prompt(): Promise<unknown>;
}

/** The browser's offer, while it stands. */
export const useOffer = create<{ offer: Offer | null }>()(() => ({ offer: null }));

export function installable(): void {
  window.addEventListener("beforeinstallprompt", (e) => {
    e.preventDefault(); // Settings offer it
    useOffer.setState({ offer: e as Offer });
  });
  window.addEventListener("appinstalled", () => useOffer.setState({ offer: null }));
  // Only over HTTPS and on this computer do browsers have them; the UI does without.
  if (import.meta.env.PROD && "serviceWorker" in navigator) void navigator.serviceWorker.register("/sw.js").catch(() => undefined);
}

export async function install(): Promise<void> {
  const { offer } = useOffer.getState();
  useOffer.setState({ offer: null }); // it can be used once
  await offer?.prompt();
}
