// The machines that share the store: who runs, what each does, who owns what.

import { useState } from "react";
import { useNames } from "../api/names";
import { useFleet, useSessions } from "../api/queries";
import type { FleetNode, Session } from "../api/types";
import { useNow } from "../lib/now";
import { ago, duration, plural } from "../lib/format";
import { sessionPath } from "../lib/router";
import { safeName } from "../lib/safe";
import { isWorking } from "../model/lists";
import { Skeleton } from "../ui/Lazy";
import { Link } from "../ui/Link";

const every = 5_000;
const late = 10_000; // a living node renews its lease every few seconds
const most = 50;

const sum = (nodes: FleetNode[], count: (n: FleetNode) => number) => nodes.reduce((t, n) => t + count(n), 0);

export default function Fleet() {
  const { data, error, isPending } = useFleet(every);
  const nodes = data?.nodes ?? [];
  return (
    <div className="page-inner">
      <h1>Fleet</h1>
      {isPending && <Skeleton lines={6} />}
      {error && <p role="alert">{error.message}</p>}
      {data && !data.node && (
        <div className="empty"><strong>There is no fleet</strong><span>This server keeps its sessions in a file of its own. Servers that share a PostgreSQL database are a fleet: start each with <span className="mono">terret serve --store postgres://user@host/database</span>.</span></div>
      )}
      {data?.node && nodes.length === 0 && <div className="empty"><strong>No node runs</strong><span>This server has lost its lease, and takes a new one in a moment.</span></div>}
      {data && nodes.length > 0 && (
        <>
          <dl className="figures">
            <div><dt>Nodes</dt><dd>{nodes.length}</dd></div>
            <div><dt>Working</dt><dd>{sum(nodes, (n) => n.working)}</dd></div>
            <div><dt>Sessions</dt><dd>{sum(nodes, (n) => n.sessions)}</dd></div>
            <div><dt>Database answers in</dt><dd>{data.database_ms < 1 ? "< 1 ms" : `${Math.round(data.database_ms)} ms`}</dd></div>
          </dl>
          <Versions nodes={nodes} />
          <ul className="plain column" aria-label="Nodes">
            {nodes.map((n) => <Node key={n.worker} node={n} here={n.name === data.node} />)}
          </ul>
        </>
      )}
    </div>
  );
}

/** Nodes of different versions work together only while the fleet is upgraded. */
function Versions({ nodes }: { nodes: FleetNode[] }) {
  const versions = [...new Set(nodes.map((n) => n.version || "unknown"))].sort();
  if (versions.length < 2) return null;
  return <div className="notice boxed" role="status"><strong>The nodes have different versions</strong><span>{versions.map(safeName).join(", ")}. Upgrade the others when their turns have ended: <span className="mono">terret worker drain NODE</span>.</span></div>;
}

function Node({ node, here }: { node: FleetNode; here: boolean }) {
  const now = useNow(true, every);
  const [open, setOpen] = useState(false);
  const silent = now - Date.parse(node.seen_at);
  const owned = (useSessions().data?.items ?? []).filter((s) => s.owner === node.worker);
  return (
    <li className="card column fleet-node">
      <div className="row wrap">
        <h2>{safeName(node.name)}</h2>
        {here && <span className="tag">this server</span>}
        {node.draining && <span className="tag bad">draining</span>}
        {silent > late && <span className="tag bad">no sign of life for {duration(silent)}</span>}
        {(node.labels ?? []).map((l) => <span key={l} className="tag">{safeName(l)}</span>)}
      </div>
      <Load node={node} />
      <p className="dim small">
        {safeName(node.host)} · {node.version ? safeName(node.version) : "unknown version"} · up for {ago(node.started_at, now)}{node.roots?.length ? <> · <span className="mono">{node.roots.map(safeName).join(", ")}</span></> : null}
      </p>
      {node.draining && <p className="small">It gets no new sessions, and stops when its turns have ended.</p>}
      {owned.length > 0 && (
        <>
          <div className="row"><button type="button" className="button quiet tiny fleet-owns" aria-expanded={open} onClick={() => setOpen(!open)}>{open ? "Hide" : "Show"} {plural(owned.length, "session")} that it owns</button></div>
          {open && <Owned sessions={owned} />}
        </>
      )}
    </li>
  );
}

/** How busy a node is, as numbers, and as a bar if it takes only so many. */
function Load({ node }: { node: FleetNode }) {
  const words = `${node.working} working, ${plural(node.sessions, "session")}${node.max ? ` of at most ${node.max}` : ""}`;
  return (
    <div className="column">
      {node.max ? <meter min={0} max={node.max} high={node.max * 0.9} value={node.sessions} aria-label={words} /> : null}
      <span>{words}</span>
    </div>
  );
}

function Owned({ sessions }: { sessions: Session[] }) {
  const { nameOf } = useNames();
  return (
    <ul className="plain">
      {sessions.slice(0, most).map((s) => (
        <li key={s.id}><Link to={sessionPath(s.id)} className="session">
          <span className={`dot ${isWorking(s.state) ? "busy" : ""}`} aria-hidden="true" />
          <span className="cut">{safeName(s.title) || "New session"}</span>
          <span className="faint small">{nameOf(s)}</span>
        </Link></li>
      ))}
      {sessions.length > most && <li className="dim small">and {sessions.length - most} more</li>}
    </ul>
  );
}
