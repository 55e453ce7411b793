import { Check, Minus } from "lucide-react";
import { useAgents } from "../api/queries";
import type { Probe } from "../api/types";
import { safeName } from "../lib/safe";
import { capabilityNames } from "../lib/words";
import { Hint } from "../ui/Hint";
import { Skeleton } from "../ui/Lazy";

const tested = { yes: "tested version", newer: "newer than tested", older: "older than tested" };

export default function Agents() {
  const { data, error, isPending } = useAgents();
  const agents = data?.items ?? [];
  return (
    <div className="page-inner wide">
      <h1>Agents</h1>
      {isPending && <Skeleton lines={8} />}
      {error && <p role="alert">{error.message}</p>}
      <div className="agent-cards">{agents.map((a) => <Card key={a.agent} probe={a} />)}</div>
      {agents.length > 0 && <Capabilities agents={agents} />}
    </div>
  );
}

function Card({ probe: p }: { probe: Probe }) {
  const demo = p.agent === "native" && p.auth === "missing"; // works without a key
  const ready = p.found && (demo || p.auth !== "missing");
  return (
    <section className="card column" aria-label={p.agent}>
      <div className="row wrap">
        <h2 className="grow">{p.agent} <span className="dim">{safeName(p.version ?? "")}</span></h2>
        <span className={`tag ${ready ? "good" : p.found ? "bad" : ""}`}>{!p.found ? "not installed" : demo ? "ready, demo only" : ready ? "ready" : "not signed in"}</span>
      </div>
      {p.found && p.tested && <span className="small dim">{tested[p.tested]}</span>}
      {p.path && <span className="mono small cut dim" title={safeName(p.path)}>{safeName(p.path)}</span>}
      {p.fix && <p className="small"><Hint text={p.fix} /></p>}
    </section>
  );
}

function Capabilities({ agents }: { agents: Probe[] }) {
  return (
    <section className="column">
      <h2>What each can do</h2>
      <div className="table-scroll" tabIndex={0} role="group" aria-label="Capabilities">
        <table className="table">
          <thead><tr><th scope="col">Capability</th>{agents.map((a) => <th key={a.agent} scope="col">{a.agent}</th>)}</tr></thead>
          <tbody>
            {Object.entries(capabilityNames).map(([id, name]) => (
              <tr key={id}><th scope="row">{name}</th>{agents.map((a) => <td key={a.agent}><Cell of={a.capabilities[id]} /></td>)}</tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Cell({ of }: { of: Probe["capabilities"][string] | undefined }) {
  if (typeof of === "string") return <>{of}</>;
  if (!of?.ok) return <span className="faint" title={of?.reason}><Minus size={14} aria-label={of?.reason ? `no: ${of.reason}` : "no"} /></span>;
  return <span className="row"><Check size={14} aria-label="yes" className="good" />{of.by === "harness" && <span className="faint small">by Terret</span>}</span>;
}
