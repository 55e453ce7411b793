import { type ReactNode, useState } from "react";
import { useNames } from "../api/names";
import { useShown } from "../conversation/context";
import { dollars, tokens } from "../lib/format";
import { safeName, safeText } from "../lib/safe";
import { policies } from "../lib/words";
import { TrustDetails } from "../shell/Trust";
import { conversations } from "../stream/live";
import { CopyButton } from "../ui/CopyButton";

/** Everything about the session that is not the conversation. */
export function Details() {
  const { nameOf } = useNames();
  const { session, conversation: c } = useShown();
  const u = c.usage ?? session.usage;
  return (
    <div className="pane-pad details">
      <dl>
        <Fact name="Agent">{nameOf(session)} {session.agent === "native" ? "" : c.info.version}</Fact>
        <Fact name="Model">{session.model || c.info.model || "Default model"}</Fact>
        <Fact name="Folder"><span className="mono">{safeName(session.cwd)}</span></Fact>
        <Fact name="Mode">{policies.find((p) => p.id === session.policy)?.name ?? session.policy}</Fact>
        <Fact name="Style">{session.mode}{session.permission_mode ? ` · ${session.permission_mode}` : ""}</Fact>
        {session.persona && <Fact name="Persona">{session.persona}</Fact>}
        <Fact name="State">{c.state}{c.detail ? `: ${safeText(c.detail)}` : ""}</Fact>
        <Fact name="Tokens">{tokens(u.input)} in · {tokens(u.output)} out · {tokens(u.cache_read)} cached</Fact>
        <Fact name="Cost">{dollars(c.usage?.cost_usd ?? session.cost_usd)}</Fact>
        {session.forked_from && <Fact name="Forked from"><span className="mono">{session.forked_from}</span></Fact>}
        <Fact name="Session"><span className="mono">{session.id}</span> <CopyButton text={session.id} label="Copy session id" /></Fact>
      </dl>
      {c.info.tools.length > 0 && <Section title={`Tools (${c.info.tools.length})`}><div className="row wrap">{c.info.tools.map((t) => <span key={t} className="tag">{safeName(t)}</span>)}</div></Section>}
      {c.info.mcpServers.length > 0 && (
        <Section title="MCP servers">
          {c.info.mcpServers.map((m) => <p key={m.name} className="small"><span className="mono">{safeName(m.name)}</span> <span className={m.error ? "tool-bad" : "faint"}>{safeText(m.error ?? m.status ?? "")}</span></p>)}
        </Section>
      )}
      <TrustDetails cwd={session.cwd} />
      <RawEvents />
    </div>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return <><dt>{name}</dt><dd>{children}</dd></>;
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return <section className="column"><h2>{title}</h2>{children}</section>;
}

const step = 100;

function RawEvents() {
  const { session } = useShown();
  const [count, setCount] = useState(0);
  const log = conversations.get(session.id).snapshot().log;
  const events = count > 0 ? log.slice(-count).toReversed() : [];
  return (
    <Section title="Events">
      {events.map((e) => (
        <details key={e.seq} className="raw">
          <summary><span className="faint">{e.seq}</span> <span className="mono">{safeName(e.kind)}</span></summary>
          <pre tabIndex={0}>{safeText(JSON.stringify(e.data, null, 2))}</pre>
        </details>
      ))}
      {count < log.length && <button type="button" className="link small" onClick={() => setCount(count + step)}>{count === 0 ? "Show raw events" : "Show older"}</button>}
    </Section>
  );
}
