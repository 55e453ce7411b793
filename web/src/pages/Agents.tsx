import { Check, Minus, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { useAgents, useOwner } from "../api/queries";
import type { Probe } from "../api/types";
import { sentence } from "../lib/format";
import { go } from "../lib/router";
import { safeName, safeText } from "../lib/safe";
import { capabilityNames, oversights } from "../lib/words";
import { Button } from "../ui/Button";
import { Hint } from "../ui/Hint";
import { Skeleton } from "../ui/Lazy";
import { Link } from "../ui/Link";
import { AddAgentDialog, RemoveAgentDialog } from "./AgentDialogs";

const tested = { yes: "tested", newer: "newer than tested", older: "older than tested" };

/** A fix as a sentence. Those that begin with a program keep its name. */
const asSentence = (fix: string) => (/^\S+ (was not found|.*does not answer)/.test(fix) ? fix : sentence(fix));

/** Whether nothing that an agent needs is missing. The built-in one works without a key. */
const usable = (p: Probe) => p.found && (p.auth !== "missing" || p.agent === "native");

export default function Agents() {
  const { data, error, isPending } = useAgents();
  const owner = useOwner();
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState("");
  const agents = data?.items ?? [];
  const here = agents.filter((a) => a.found || a.added || a.path);
  const absent = agents.filter((a) => !here.includes(a));
  return (
    <div className="page-inner wide">
      <div className="row">
        <h1 className="grow">Agents</h1>
        {owner && <Button look="quiet" onClick={() => go("/discovered")}>From other tools</Button>}
        {owner && <Button onClick={() => setAdding(true)}><Plus size={14} /> Add an agent</Button>}
      </div>
      {isPending && <Skeleton lines={8} />}
      {error && <p role="alert">{error.message}</p>}
      <div className="agent-cards">
        {[...here].sort((a, b) => Number(usable(b)) - Number(usable(a))).map((a) => (
          <Card key={a.agent} probe={a} {...(owner && a.added ? { onRemove: () => setRemoving(a.agent) } : {})} />
        ))}
      </div>
      {absent.length > 0 && (
        <section className="column">
          <h2>Not installed</h2>
          {owner && <p className="small">You can <Link to="/setup">install some of them from here</Link>.</p>}
          <ul className="plain absent">
            {absent.map((a) => (
              <li key={a.agent}><strong>{safeName(a.title || a.agent)}</strong> <span className="small dim">{a.fix && <Hint text={a.fix} />}</span></li>
            ))}
          </ul>
        </section>
      )}
      {here.length > 0 && <Capabilities agents={here} />}
      {adding && <AddAgentDialog onClose={() => setAdding(false)} />}
      {removing && <RemoveAgentDialog agent={removing} onClose={() => setRemoving("")} />}
    </div>
  );
}

function Card({ probe: p, onRemove }: { probe: Probe; onRemove?: () => void }) {
  const ready = usable(p);
  const state = !p.found ? "does not answer" : ready ? (p.auth === "missing" ? "ready, demo only" : "ready") : "not signed in";
  const oversight = oversights[String(p.capabilities.oversight)] ?? oversights.none!;
  return (
    <section className="card column agent-card" aria-label={p.agent}>
      <div className="row">
        <h2 className="grow cut">{safeName(p.title || p.agent)}</h2>
        <span className={`tag ${ready ? "good" : p.found ? "" : "bad"}`}>{state}</span>
        {onRemove && <Button look="quiet" tiny label={`Remove ${p.agent}`} onClick={onRemove}><Trash2 size={14} /></Button>}
      </div>
      <div className="row wrap small dim">
        <span className="mono">{safeName(p.agent)}</span>
        {p.version && <span>{safeName(p.version)}</span>}
        {p.found && p.version && <span>{p.tested ? tested[p.tested] : "not tested"}</span>}
        {p.auth === "ok" && <span>signed in</span>}
        {p.auth === "unknown" && p.found && <span>cannot tell who is signed in</span>}
        {p.added && <span>added by you</span>}
      </div>
      {p.fix && <p className="small"><Hint text={asSentence(p.fix)} /></p>}
      {p.found && <p className="small">Terret sees <strong>{oversight.name}</strong>. <span className="dim">{oversight.what}</span></p>}
      {p.found && <Abilities probe={p} />}
      {p.path && <span className="mono small cut faint" title={safeName(p.path)}>{safeName(p.path)}</span>}
    </section>
  );
}

/** What an agent cannot do, and why. */
function Abilities({ probe }: { probe: Probe }) {
  const all = Object.keys(capabilityNames);
  const lacks = all.flatMap((id) => {
    const of = probe.capabilities[id];
    return typeof of === "object" && of.ok ? [] : [{ id, reason: typeof of === "object" ? of.reason : "" }];
  });
  if (lacks.length === 0) return <p className="small dim">Supports everything.</p>;
  return (
    <details className="small">
      <summary>{all.length - lacks.length} of {all.length} abilities</summary>
      <dl className="lacks">
        {lacks.map((l) => <div key={l.id}><dt><Minus size={12} aria-label="no" /> {capabilityNames[l.id]}</dt><dd className="dim">{l.reason ? safeText(l.reason) : "not known why"}</dd></div>)}
      </dl>
    </details>
  );
}

function Capabilities({ agents }: { agents: Probe[] }) {
  return (
    <section className="column">
      <h2>What each can do</h2>
      <div className="table-scroll" tabIndex={0} role="group" aria-label="Capabilities">
        <table className="table">
          <thead><tr><th scope="col">Capability</th>{agents.map((a) => <th key={a.agent} scope="col">{safeName(a.agent)}</th>)}</tr></thead>
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
