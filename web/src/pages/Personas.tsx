import { useState } from "react";
import { usePersonaPrompt, usePersonas, useRoots, useSessions } from "../api/queries";
import type { Persona } from "../api/types";
import { tokens } from "../lib/format";
import { safeName, safeText } from "../lib/safe";
import { modes, policies } from "../lib/words";
import { CopyButton } from "../ui/CopyButton";
import { Skeleton } from "../ui/Lazy";

export default function Personas() {
  const roots = useRoots().data?.items ?? [];
  const sessions = useSessions().data?.items ?? [];
  const folders = [...new Set([...sessions.map((s) => s.cwd), ...roots.map((r) => r.path)])];
  const [wanted, setWanted] = useState("");
  const cwd = wanted || folders[0] || "";
  const { data, error, isPending } = usePersonas(cwd);
  const [chosen, setChosen] = useState("");
  return (
    <div className="page-inner">
      <div className="row wrap">
        <h1 className="grow">Personas</h1>
        <label className="row small dim">in <select className="input mono" value={cwd} onChange={(e) => { setWanted(e.target.value); setChosen(""); }}>{folders.map((f) => <option key={f} value={f}>{safeName(f)}</option>)}</select></label>
      </div>
      {isPending && cwd && <Skeleton lines={4} />}
      {error && <p role="alert">{error.message}</p>}
      {data && data.items.length === 0 && (
        <div className="empty"><strong>No personas in this folder</strong><span>A persona is a role for an agent: a file <span className="mono">agents/AGENT_NAME.md</span> with what it does, which tools it may use, and how it should work.</span></div>
      )}
      {data?.broken?.map((b) => <p key={b} className="form-error small">{safeText(b)}</p>)}
      <div className="column persona-list">
        {data?.items.map((p) => <Card key={p.id} persona={p} cwd={cwd} open={chosen === p.id} onOpen={() => setChosen(chosen === p.id ? "" : p.id)} />)}
      </div>
    </div>
  );
}

function Card({ persona: p, cwd, open, onOpen }: { persona: Persona; cwd: string; open: boolean; onOpen: () => void }) {
  return (
    <section className="card column" aria-label={safeName(p.id)}>
      <div className="row wrap">
        <h2 className="grow">{safeName(p.id)}</h2>
        {p.model && <span className="tag">{safeName(p.model)}</span>}
        {p.policy && <span className="tag">{policies.find((x) => x.id === p.policy)?.name ?? p.policy}</span>}
        <span className={`tag ${p.trusted ? "good" : ""}`}>{p.trusted ? "trusted" : "Untrusted: permissions ignored"}</span>
      </div>
      {p.description && <p className="dim">{safeText(p.description)}</p>}
      {p.tools && <p className="row wrap small">{p.tools.map((t) => <span key={t} className="tag">{safeName(t)}</span>)}</p>}
      <span><button type="button" className="link small" aria-expanded={open} onClick={onOpen}>{open ? "Hide the prompt" : "Show the assembled prompt"}</button></span>
      {open && <Prompt id={p.id} cwd={cwd} />}
    </section>
  );
}

function Prompt({ id, cwd }: { id: string; cwd: string }) {
  const [mode, setMode] = useState("workbench");
  const { data, error, isPending } = usePersonaPrompt(id, cwd, mode);
  return (
    <div className="column">
      <div className="row wrap">
        <label className="row small dim">Style <select className="input narrow" value={mode} onChange={(e) => setMode(e.target.value)}>{modes.map((m) => <option key={m.id} value={m.id}>{m.name}</option>)}</select></label>
        {data && <span className="small faint grow">about {tokens(data.tokens)} tokens</span>}
        {data && <CopyButton text={data.text} label="Copy prompt" />}
      </div>
      {isPending && <Skeleton lines={5} />}
      {error && <p role="alert">{error.message}</p>}
      {data?.notes?.map((n) => <p key={n} className="small dim">{safeText(n)}</p>)}
      {data && <pre className="output tall" tabIndex={0} role="group" aria-label="Assembled prompt">{safeText(data.text)}</pre>}
    </div>
  );
}
