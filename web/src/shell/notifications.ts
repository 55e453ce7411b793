// Tells a person who looks elsewhere that something waits.

import { useEffect, useRef } from "react";
import { useRequests, useSessions } from "../api/queries";
import { go, sessionPath } from "../lib/router";
import { useSettings } from "../lib/state";
import { agentName } from "../lib/words";
import { say } from "../lib/toast";
import { gist, heading } from "../requests/words";

export async function turnOnNotifications(): Promise<void> {
  if (!("Notification" in window)) return say("This browser has no notifications");
  const granted = (await Notification.requestPermission()) === "granted";
  useSettings.setState({ notify: granted });
  say(granted ? "You will be told when something needs you" : "The browser does not allow notifications");
}

export function useNotifications(): void {
  const requests = useRequests().data?.items;
  const sessions = useSessions().data?.items;
  const notify = useSettings((s) => s.notify);
  const known = useRef<Set<string> | null>(null);
  useEffect(() => {
    if (!requests) return;
    const before = known.current;
    known.current = new Set(requests.map((r) => r.request_id));
    if (!before || !notify || !document.hidden || !("Notification" in window)) return;
    for (const r of requests) {
      if (before.has(r.request_id)) continue;
      const session = sessions?.find((s) => s.id === r.session);
      // The tag keeps several tabs from telling the same thing.
      const note = new Notification(heading(r, agentName(session?.agent)), { body: gist(r, session?.cwd), tag: r.request_id });
      note.onclick = () => {
        window.focus();
        go(sessionPath(r.session));
        note.close();
      };
    }
  }, [requests, sessions, notify]);
}
