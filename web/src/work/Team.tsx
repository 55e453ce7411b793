import { useQueryClient } from "@tanstack/react-query";
import { MoreHorizontal, Plus, Send } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { keys } from "../api/keys";
import { useNames } from "../api/names";
import { useMe } from "../api/queries";
import type { TeamMember, TeamMessage } from "../api/types";
import { baseName, clock, plural } from "../lib/format";
import { go, sessionPath } from "../lib/router";
import { safeName, safeText } from "../lib/safe";
import { attempt } from "../lib/toast";
import { Markdown } from "../conversation/Markdown";
import { Button } from "../ui/Button";
import { Menu } from "../ui/Menu";
import { readMail, sendMail, setTopology, shutDown, useMail, useMembers, useTeam } from "./api";
import { bend, graphOf, tellGraph } from "./graph";
import { Pending, State } from "./parts";
import { SpawnDialog } from "./Spawn";

const page = 2_000; // entries of the log that are read at once

export function TeamPage() {
  const client = useQueryClient();
  const members = useMembers();
  const [back, setBack] = useState(page);
  const mail = useMail(back);
  const [adding, setAdding] = useState(false);
  const [of, setOf] = useState("");
  const list = members.data?.items ?? [];
  const messages = mail.data?.items ?? [];
  useRead(messages);
  const refresh = () => client.invalidateQueries({ queryKey: keys.team });
  const stop = async (name: string) => {
    await attempt(`${name} could not be shut down`, () => shutDown(name));
    if (of === name) setOf("");
    await refresh();
  };
  return (
    <>
      <div className="row wrap">
        <h1 className="grow">Team</h1>
        {list.length > 0 && <Topology />}
        <Button {...(list.length === 0 ? { look: "primary" } : {})} onClick={() => setAdding(true)}><Plus size={14} /> Add a member</Button>
      </div>
      <Pending error={members.error ?? mail.error} isPending={members.isPending} />
      {members.data && list.length === 0 && (
        <div className="empty">
          <strong>Nobody is in the team yet</strong>
          <span>Members have names, work in a folder, and write to each other and to you. Add two agents, say a “builder” and a “reviewer”, and send one of them a task.</span>
        </div>
      )}
      {list.length > 0 && (
        <div className="team">
          <section aria-label="Members">
            <ul className="plain members">
              {list.map((m) => <Member key={m.name} member={m} chosen={of === m.name} onChoose={() => setOf(of === m.name ? "" : m.name)} onStop={() => stop(m.name)} />)}
            </ul>
          </section>
          <GraphView members={list} messages={messages} />
        </div>
      )}
      {(list.length > 0 || messages.length > 0) && (
        <section aria-label="Messages" className="column mail">
          <div className="row">
            <h2 className="grow">{of ? `Messages of ${safeName(of)}` : "Messages"}</h2>
            {of && <Button tiny look="quiet" onClick={() => setOf("")}>Show all</Button>}
          </div>
          {mail.data?.more && <span><Button tiny look="quiet" onClick={() => setBack(back * 4)}>Show earlier ones</Button></span>}
          <MailList messages={messages.filter((m) => !of || m.from === of || m.to.includes(of))} members={list} />
          {list.length > 0 && <Write members={list} to={of} onSent={refresh} />}
        </section>
      )}
      {adding && <SpawnDialog members={list} onClose={() => setAdding(false)} onDone={refresh} />}
    </>
  );
}

/** Notes that messages to this person were read, once they are on the screen. */
function useRead(messages: readonly TeamMessage[]): void {
  const me = useMe();
  const told = useRef(new Set<string>());
  useEffect(() => {
    if (document.hidden || !me) return;
    for (const m of messages) {
      if (m.receipts[me] !== "delivered" || told.current.has(m.message_id)) continue;
      told.current.add(m.message_id);
      readMail(m.message_id).catch(() => told.current.delete(m.message_id)); // it stays unread
    }
  }, [me, messages]);
}

function Member({ member: m, chosen, onChoose, onStop }: { member: TeamMember; chosen: boolean; onChoose: () => void; onStop: () => void }) {
  const { agentName } = useNames();
  const person = m.agent === "person";
  return (
    <li className="member">
      <button type="button" className="member-pick" aria-pressed={chosen} onClick={onChoose}>
        <strong className="cut">{safeName(m.name)}</strong>
        <span className="dim cut">{person ? "Person" : agentName(m.agent, m.model)}{m.cwd ? ` · ${safeName(baseName(m.cwd))}` : ""}</span>
        {m.mail > 0 && <span className="tag" title="Messages that it has not dealt with">{plural(m.mail, "message")} waiting</span>}
        {!person && <State state={m.state} />}
      </button>
      <Menu
        trigger={<Button look="quiet" tiny label={`Actions for ${safeName(m.name)}`}><MoreHorizontal size={14} /></Button>}
        entries={[
          !!m.session && { label: "Open session", onSelect: () => go(sessionPath(m.session!)) },
          { label: person ? "Take out of the team" : "Shut down", danger: true, onSelect: onStop },
        ]}
      />
      {m.detail && <span className="member-detail small dim">{safeText(m.detail)}</span>}
    </li>
  );
}

const topologies: Record<string, string> = {
  broadcast: "Anyone can message anyone", hierarchical: "Only lead and reports", filtered: "Each hears what it chose", custom: "By listed routes",
};

/** Who may write to whom. Filters and routes are set in the terminal. */
function Topology() {
  const client = useQueryClient();
  const kind = useTeam().data?.topology.kind ?? "broadcast";
  const choose = async (next: string) => {
    await attempt("The change was not taken", () => setTopology(next));
    await client.invalidateQueries({ queryKey: keys.team });
  };
  return (
    <select className="pick" aria-label="Who may write to whom" value={kind} onChange={(e) => void choose(e.target.value)}>
      {[...new Set(["broadcast", "hierarchical", kind])].map((k) => <option key={k} value={k}>{topologies[k] ?? k}</option>)}
    </select>
  );
}

const width = 420;
const height = 260;

function GraphView({ members, messages }: { members: readonly TeamMember[]; messages: readonly TeamMessage[] }) {
  const graph = useMemo(() => graphOf(members, messages, width, height), [members, messages]);
  const newest = graph.edges.reduce((t, e) => (e.last > t ? e.last : t), "");
  return (
    <figure className="graph">
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`Who writes to whom: ${tellGraph(graph)}`}>
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0 L8,4 L0,8 z" /></marker>
        </defs>
        {graph.edges.map((e) => (
          <path key={`${e.from.name} ${e.to.name}`} className={`edge${e.last === newest ? " newest" : ""}`} d={bend(e)} strokeWidth={Math.min(5, 1 + Math.log2(e.count))} markerEnd="url(#arrow)">
            <title>{`${safeName(e.from.name)} to ${safeName(e.to.name)}: ${e.count}`}</title>
          </path>
        ))}
        {graph.nodes.map((n) => (
          <g key={n.name} className={`node-${n.member ? (n.member.agent === "person" ? "person" : n.member.state) : "person"}`}>
            {n.member && n.member.agent !== "person" ? <circle cx={n.x} cy={n.y} r="13" /> : <rect x={n.x - 12} y={n.y - 12} width="24" height="24" rx="6" />}
            <text x={n.x} y={n.y + 4} className="initial">{safeName(n.name).slice(0, 1).toUpperCase()}</text>
            {graph.nodes.length <= 24 && <text x={n.x} y={n.y + 28}>{safeName(n.name).slice(0, 16)}</text>}
          </g>
        ))}
      </svg>
    </figure>
  );
}

const receipts: Record<string, string> = { "": "not delivered yet", delivered: "delivered", read: "read", answered: "answered", failed: "failed", stopped: "stopped" };

function MailList({ messages, members }: { messages: readonly TeamMessage[]; members: readonly TeamMember[] }) {
  const me = useMe();
  const box = useRef<HTMLDivElement>(null);
  const stick = useRef(true);
  useEffect(() => {
    if (box.current && stick.current) box.current.scrollTop = box.current.scrollHeight;
  }, [messages.length]);
  const agents = new Set(members.filter((m) => m.agent !== "person").map((m) => m.name));
  if (messages.length === 0) return <p className="dim small">No messages yet.</p>;
  return (
    <div ref={box} className="mail-list" tabIndex={0} role="log" aria-label="Messages of the team" onScroll={(e) => { const el = e.currentTarget; stick.current = el.scrollHeight - el.scrollTop - el.clientHeight < 40; }}>
      {messages.map((m) => {
        const states = Object.entries(m.receipts).map(([name, state]) => (m.to.length > 1 ? `${name}: ${receipts[state] ?? state}` : (receipts[state] ?? state)));
        return (
          <article key={m.message_id} className={`letter${agents.has(m.from) ? "" : " own"}`}>
            <header className="row small">
              <strong>{m.from === me ? "You" : safeName(m.from)}</strong> <span className="dim">to {m.to.map((n) => (n === me ? "you" : safeName(n))).join(", ")}</span>
              {m.type !== "chat" && <span className="tag">{m.type}</span>}
              <span className="grow" />
              <span className={Object.values(m.receipts).includes("failed") ? "tool-error" : "faint"}>{states.join(", ")}</span>
              <span className="faint">{clock(m.time)}</span>
            </header>
            <Markdown text={m.text} />
          </article>
        );
      })}
    </div>
  );
}

function Write({ members, to, onSent }: { members: readonly TeamMember[]; to: string; onSent: () => Promise<unknown> }) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState("");
  const [busy, setBusy] = useState(false);
  useEffect(() => setChosen(to), [to]);
  const topics = [...new Set(members.flatMap((m) => m.topics ?? []))];
  const names = [...members.map((m) => m.name), ...(members.length > 1 ? ["all"] : []), ...topics.map((t) => `#${t}`)];
  const target = names.includes(chosen) ? chosen : (members.find((m) => m.agent !== "person")?.name ?? names[0] ?? "");
  const send = async () => {
    if (!text.trim() || busy) return;
    setBusy(true);
    const sent = await attempt("The message was not sent", () => sendMail([target], text.trim()));
    setBusy(false);
    if (sent) setText("");
    await onSent();
  };
  return (
    <form className="composer team-composer" aria-label="Write to the team" onSubmit={(e) => { e.preventDefault(); void send(); }}>
      <div className="composer-box">
        <textarea rows={2} aria-label="Message to the team" placeholder={`Write to ${target === "all" ? "everybody" : safeName(target)}`} value={text} onChange={(e) => setText(e.target.value)}
          onKeyDown={(e) => { if (e.key === "Enter" && !e.shiftKey && !e.nativeEvent.isComposing) { e.preventDefault(); void send(); } }} />
        <div className="composer-foot">
          <label className="row small dim">To
            <select className="pick" aria-label="To" value={target} onChange={(e) => setChosen(e.target.value)}>
              {names.map((n) => <option key={n} value={n}>{n === "all" ? "Everybody" : safeName(n)}</option>)}
            </select>
          </label>
          <span className="grow" />
          <button type="submit" className="button tiny primary" disabled={!text.trim() || busy}><Send size={12} aria-hidden="true" /> Send <kbd>⏎</kbd></button>
        </div>
      </div>
    </form>
  );
}
