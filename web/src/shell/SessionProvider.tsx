import { type ReactNode, useMemo, useSyncExternalStore } from "react";
import { ApiError } from "../api/http";
import { type OneSession, useOneSession } from "../api/queries";
import { ShownContext } from "../conversation/context";
import { sentence } from "../lib/format";
import { safeText } from "../lib/safe";
import type { ConversationStore } from "../stream/conversations";
import { conversations } from "../stream/live";
import { Button } from "../ui/Button";
import { Skeleton } from "../ui/Lazy";
import { Link } from "../ui/Link";

const none = { subscribe: () => () => {}, snapshot: () => null };

/**
 * Gives the session that is shown, and its conversation, to the shell; or the shell what
 * to show in its place. The shell stays as it is when another session is shown, or none.
 */
export function SessionProvider({ id, shell }: { id: string; shell: (instead?: ReactNode) => ReactNode }) {
  const store = id ? conversations.get(id) : null;
  const snap = useSyncExternalStore((store ?? none).subscribe, (store ?? none).snapshot);
  const found = useOneSession(id || null);
  const { session } = found;
  const shown = useMemo(() => (session && snap?.loaded ? { session, conversation: snap.conversation } : null), [session, snap]);
  return <ShownContext value={shown}>{shell(shown || !store || !snap ? undefined : <Instead store={store} error={snap.error} found={found} />)}</ShownContext>;
}

/** What is shown while a session is fetched, and if it cannot be. */
function Instead({ store, error: failed, found }: { store: ConversationStore; error: Error | null; found: OneSession }) {
  const error = failed ?? (found.session ? null : found.error);
  if (error || (!found.pending && !found.session)) {
    const gone = !error || (error instanceof ApiError && error.status === 404);
    return (
      <main className="page">
        <div className="page-inner empty" role="alert">
          <strong>This session cannot be shown</strong>
          <span>{gone ? "It does not exist. Somebody may have deleted it." : sentence(safeText(error.message))}</span>
          <span className="row">
            {!gone && <Button onClick={() => { void store.catchUp(); found.refetch(); }}>Try again</Button>}
            <Link to="/" className={`button${gone ? "" : " quiet"}`}>All sessions</Link>
          </span>
        </div>
      </main>
    );
  }
  return <main className="page" aria-busy="true"><div className="page-inner"><Skeleton lines={8} /></div></main>;
}
