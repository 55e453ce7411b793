import { useEffect } from "react";
import { useRequests, useSessions } from "../api/queries";
import { useEnded } from "../stream/ended";

/** The title and the icon of the page say how much waits. What ended in sessions that are gone is nothing to look at. */
export function Title() {
  const open = useRequests().data?.items.length ?? 0;
  const ended = useEnded((e) => e.sessions);
  const unread = useSessions().data?.items.filter((s) => s.id in ended).length ?? 0;
  useEffect(() => {
    document.title = open > 0 ? `(${open}) Terret` : unread > 0 ? `✓ ${unread} · Terret` : "Terret";
    const icon = document.querySelector<HTMLLinkElement>("link[rel=icon]");
    if (icon) icon.href = open > 0 ? "/icon-needs.svg" : unread > 0 ? "/icon-done.svg" : "/icon.svg";
  }, [open, unread]);
  return null;
}
