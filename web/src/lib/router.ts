// Addresses: /s/ID is a session, /usage and the like are pages.

import { useSyncExternalStore } from "react";

export type Page = "usage" | "agents" | "rules" | "personas" | "fleet" | "settings" | "setup" | "discovered";
/** Pages about several agents; all but the team's may show one thing. */
export type WorkPage = "team" | "workflows" | "reviews" | "races";
export type Route = { page: "session"; session: string } | { page: "home" } | { page: "missing" } | { page: Page } | { page: WorkPage; id: string };

export function parse(path: string): Route {
  // Ids hold letters, digits and dashes only; anything else is no address of ours.
  const session = /^\/s\/([\w-]+)$/.exec(path)?.[1];
  if (session) return { page: "session", session };
  const work = /^\/(?:(team)|(workflows|reviews|races)(?:\/([\w-]+))?)$/.exec(path);
  if (work) return { page: (work[1] ?? work[2]) as WorkPage, id: work[3] ?? "" };
  const page = path.slice(1);
  if (page === "usage" || page === "agents" || page === "rules" || page === "personas" || page === "fleet" || page === "settings" || page === "setup" || page === "discovered") return { page };
  return { page: path === "/" ? "home" : "missing" };
}

export const sessionPath = (session: string) => `/s/${encodeURIComponent(session)}`;

export const workPath = (page: WorkPage, id = "") => `/${page}${id ? `/${encodeURIComponent(id)}` : ""}`;

const moved = "terret:moved";

export function go(path: string): void {
  if (path === location.pathname) return;
  history.pushState(null, "", path);
  window.dispatchEvent(new Event(moved));
}

function subscribe(listener: () => void): () => void {
  window.addEventListener("popstate", listener);
  window.addEventListener(moved, listener);
  return () => {
    window.removeEventListener("popstate", listener);
    window.removeEventListener(moved, listener);
  };
}

export const useRoute = (): Route => parse(useSyncExternalStore(subscribe, () => location.pathname));
