import { type RightTab, useSettings } from "../lib/state";
import { conversations } from "../stream/live";

/** Opens the right pane: on the changes of the session if it has some, or closes it. */
export function toggleRight(session: string | undefined): void {
  const { right, tab } = useSettings.getState();
  const changed = session ? conversations.get(session).snapshot().conversation.changed.size > 0 : false;
  const first: RightTab = changed ? "changes" : tab === "changes" ? "files" : tab;
  useSettings.setState(right ? { right: false } : { right: true, tab: first });
}
