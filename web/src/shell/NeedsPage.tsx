import { useRequests, useSessions } from "../api/queries";
import { sessionPath } from "../lib/router";
import { safeName } from "../lib/safe";
import { useView } from "../lib/state";
import { NeedLines, useAsLines } from "../requests/NeedLines";
import { RequestCard } from "../requests/RequestCard";
import { Link } from "../ui/Link";

/** Everything that waits for a person, answerable in place. */
export function NeedsPage() {
  const requests = useRequests().data?.items ?? [];
  const sessions = useSessions().data?.items ?? [];
  const asLines = useAsLines(requests.length);
  return (
    <main className="page needs-page">
      <div className="page-inner">
        <h1>Needs you</h1>
        {requests.length === 0 && <div className="empty"><strong>Nothing needs you</strong><span>Requests of all sessions appear here when an agent asks.</span></div>}
        {asLines && <NeedLines lines={requests.map((item) => ({ item, gone: false }))} sessions={sessions} />}
        {!asLines && requests.map((r) => (
          <div key={r.request_id} className="column">
            <Link to={sessionPath(r.session)} className="small" onClick={() => useView.setState({ phone: "chat" })}>
              {safeName(sessions.find((s) => s.id === r.session)?.title ?? "") || "Session"}
            </Link>
            <RequestCard request={r} />
          </div>
        ))}
      </div>
    </main>
  );
}
