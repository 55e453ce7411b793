import { type ReactNode, useSyncExternalStore } from "react";
import { useSessions } from "../api/queries";
import { ShownContext } from "../conversation/context";
import { safeText } from "../lib/safe";
import { conversations } from "../stream/live";
import { Button } from "../ui/Button";
import { Skeleton } from "../ui/Lazy";
import { Link } from "../ui/Link";

/** Gives the session that is shown, and its conversation, to the shell; or the shell what to show in its place. */
export function SessionProvider({ id, shell }: { id: string; shell: (instead?: ReactNode) => ReactNode }) {
  const store = conversations.get(id);
  const snap = useSyncExternalStore(store.subscribe, store.snapshot);
  const sessions = useSessions();
  const session = sessions.data?.items.find((s) => s.id === id);
  if (session && snap.loaded) return <ShownContext value={{ session, conversation: snap.conversation }}>{shell()}</ShownContext>;
  const error = snap.error ?? sessions.error;
  if (error || (sessions.data && !sessions.isFetching && !session)) {
    return shell(
      <main className="page">
        <div className="page-inner empty" role="alert">
          <strong>This session cannot be shown</strong>
          <span>{error ? safeText(error.message) : "It is not there. Somebody may have deleted it."}</span>
          <span className="row">
            <Button onClick={() => { void store.catchUp(); void sessions.refetch(); }}>Try again</Button>
            <Link to="/" className="button quiet">All sessions</Link>
          </span>
        </div>
      </main>,
    );
  }
  return shell(<main className="page" aria-busy="true"><div className="page-inner"><Skeleton lines={8} /></div></main>);
}
