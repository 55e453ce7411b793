import { isWide, useWide } from "../lib/media";
import { type RightTab, useSettings, useView } from "../lib/state";
import { conversations } from "../stream/live";

/** Whether the right pane is open: beside the conversation, which is remembered, or over it. */
export function useRight(): boolean {
  const beside = useSettings((s) => s.right);
  const over = useView((s) => s.drawer);
  return useWide() ? beside : over;
}

export function showRight(open: boolean): void {
  if (isWide()) useSettings.setState({ right: open });
  else useView.setState({ drawer: open });
}

/** Opens the right pane: on the changes of the session if it has some, or closes it. */
export function toggleRight(session: string | undefined): void {
  if (isWide() ? useSettings.getState().right : useView.getState().drawer) return showRight(false);
  const { tab } = useSettings.getState();
  const changed = session ? conversations.get(session).snapshot().conversation.changed.size > 0 : false;
  const first: RightTab = changed ? "changes" : tab === "changes" ? "files" : tab;
  useSettings.setState({ tab: first });
  showRight(true);
}
