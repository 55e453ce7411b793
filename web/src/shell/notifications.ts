// Tells a person who looks elsewhere that something waits.

import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { call } from "../api/http";
import { useNames } from "../api/names";
import type { Session } from "../api/types";
import { knownSession, useRequests, useSessions } from "../api/queries";
import { go, sessionPath } from "../lib/router";
import { safeName, safeProse } from "../lib/safe";
import { useSettings } from "../lib/state";
import { attempt, say } from "../lib/toast";
import { type Ended, useEnded } from "../stream/ended";
import { gist, heading } from "../requests/words";

export async function turnOnNotifications(): Promise<void> {
  if (!("Notification" in window)) return say("This browser has no notifications");
  const granted = (await Notification.requestPermission()) === "granted";
  useSettings.setState({ notify: granted });
  say(granted ? "You will be told when something needs you or is done" : "The browser does not allow notifications");
}

export async function turnOffNotifications(): Promise<void> {
  const { push } = useSettings.getState();
  useSettings.setState({ notify: false });
  if (push) await attempt("The server was not told", async () => (await import("../lib/push")).turnOffPush());
}

/** Goes where a notification that somebody clicked leads; the result stops it. */
function followClicks(): () => void {
  const onMessage = ({ data }: MessageEvent<{ go?: unknown }>) => {
    if (typeof data?.go === "string" && /^\/(?!\/)/.test(data.go)) go(data.go);
  };
  const worker = navigator.serviceWorker as ServiceWorkerContainer | undefined; // absent over plain HTTP
  worker?.addEventListener("message", onMessage);
  return () => worker?.removeEventListener("message", onMessage);
}

export function useNotifications(): void {
  const push = useSettings((s) => s.push);
  useEffect(followClicks, []);
  useEffect(() => {
    if (push) void import("../lib/push").then((m) => m.renewPush()).catch(() => undefined); // the next time, then
  }, [push]);
  // What the server pushes is shown by the service worker, and only once.
  useTelling(useSettings((s) => s.notify) && !push);
}

function useTelling(notify: boolean): void {
  const { agentName, nameOf } = useNames();
  const requests = useRequests().data?.items;
  const sessions = useSessions().data?.items;
  const client = useQueryClient();
  const known = useRef<Set<string> | null>(null);
  useEffect(() => {
    if (!requests) return;
    const before = known.current;
    known.current = new Set(requests.map((r) => r.request_id));
    if (!before || !notify || !document.hidden || !("Notification" in window)) return;
    for (const r of requests) {
      if (before.has(r.request_id)) continue;
      const session = sessions?.find((s) => s.id === r.session);
      tell(heading(r, agentName(session?.agent, session?.model)), gist(r, session?.cwd), r.request_id, r.session);
    }
  }, [requests, sessions, notify, agentName]);
  useEffect(() => {
    if (!notify || !("Notification" in window)) return;
    return useEnded.subscribe((now, before) => {
      if (!document.hidden) return;
      for (const [id, e] of Object.entries(now.sessions)) {
        if (before.sessions[id]?.at === e.at) continue;
        const known = knownSession(client, id);
        void Promise.resolve(known ?? call<Session>(`/v1/sessions/${encodeURIComponent(id)}`)).catch(() => undefined).then((session) => {
          const { title, body } = wordsOfEnd(session ? nameOf(session) : "The agent", session, e);
          tell(title, body, `${id} ${e.at}`, id);
        });
      }
    });
  }, [notify, client, nameOf]);
}

/** What is told of a turn that ended. Its words are the agent's, or those of whoever made it fail. */
export function wordsOfEnd(who: string, session: Session | undefined, e: Ended): { title: string; body: string } {
  const words = safeProse(e.failed || e.text);
  return { title: e.failed ? `${who} failed` : `${who} finished`, body: safeName(session?.title ?? "") + (words ? `\n${words}` : "") };
}

/** Tells it once, whatever the number of tabs, and leads to the session. */
function tell(title: string, body: string, tag: string, session: string): void {
  let note: Notification;
  try {
    note = new Notification(title, { body, tag });
  } catch { // Android shows only what a service worker shows
    void navigator.serviceWorker?.ready.then((r) => r.showNotification(title, { body, tag, data: { path: sessionPath(session) } }));
    return;
  }
  note.onclick = () => {
    window.focus();
    go(sessionPath(session));
    note.close();
  };
}
