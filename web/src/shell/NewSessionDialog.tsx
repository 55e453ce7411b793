import { useEffect, useState } from "react";
import { useNames } from "../api/names";
import { useInstalled, useModels, usePersonas } from "../api/queries";
import type { Probe } from "../api/types";
import { safeName, safeText } from "../lib/safe";
import { choiceName, defaultModel, fullAuto, modes, oversights, policies, signInHint } from "../lib/words";
import { Button } from "../ui/Button";
import { Hint } from "../ui/Hint";
import { Dialog } from "../ui/Dialog";
import { FolderPicker, useFolder } from "./FolderPicker";
import { startSession } from "./startSession";
import { slug, useWhere, WherePicker } from "./WherePicker";

/** A new session: where, who, with what. Only the folder must be chosen. */
export default function NewSessionDialog({ onClose }: { onClose: () => void }) {
  const { agents, looking } = useInstalled();
  const [cwd, setCwd] = useFolder();
  const [agent, setAgent] = useState("");
  const [model, setModel] = useState("");
  const [persona, setPersona] = useState("");
  const [mode, setMode] = useState("workbench");
  const [policy, setPolicy] = useState("ask");
  const [own, setOwn] = useState("");
  const [first, setFirst] = useState("");
  const [busy, setBusy] = useState(false);
  const [loose, setLoose] = useState("");
  const { tree, setTree } = useWhere(cwd);
  const probe = agents.find((a) => a.agent === agent);
  const ownModes = probe?.modes ?? [];
  const models = useModels(agent).data?.items ?? [];
  const personas = usePersonas(cwd).data?.items ?? [];

  // What was refused may be fine with other choices.
  useEffect(() => setLoose(""), [cwd, agent, persona, policy, own]);

  const start = async (unenforced = false) => {
    setBusy(true);
    const made = await startSession({
      cwd, policy, ...(persona ? { mode } : {}), ...(agent ? { agent } : {}), ...(model ? { model } : {}), ...(persona ? { persona } : {}), ...(own ? { permission_mode: own } : {}), ...(unenforced ? { unenforced } : {}), ...(tree ? { worktree: true, branch: slug(first) } : {}),
    }, first.trim(), setLoose);
    setBusy(false);
    if (made) onClose();
  };
  return (
    <Dialog title="New session" description="Choose the folder and the agent" onClose={onClose} foot={
      <>
        <span className="grow small faint">{policies.find((p) => p.id === policy)?.what}</span>
        <Button look="quiet" onClick={onClose}>Cancel</Button>
        {loose ? <Button look="danger" disabled={busy} onClick={() => void start(true)}>Start anyway</Button>
          : <button type="submit" form="new-session" className={`button primary${policy === fullAuto ? " loose" : ""}`} disabled={!cwd || busy}>{policy === fullAuto ? "Start in full auto" : "Start"}</button>}
      </>
    }>
      <form id="new-session" className="column form" onSubmit={(e) => { e.preventDefault(); void start(); }}>
        <label className="field"><span>First message</span>
          <textarea className="input" rows={2} autoFocus placeholder="What should the agent do? (optional)" value={first} onChange={(e) => setFirst(e.target.value)}
            onKeyDown={(e) => { if (e.altKey && e.code === "KeyW") { e.preventDefault(); setTree(!tree); } else if (e.key === "Enter" && !e.shiftKey && !e.nativeEvent.isComposing) { e.preventDefault(); if (cwd && !busy) void start(); } }} />
        </label>
        <FolderPicker cwd={cwd} onCwd={setCwd} />
        <div className="form-grid">
          <label className="field"><span>Where</span><WherePicker cwd={cwd} text={first} className="input" /></label>
          <label className="field"><span>Agent</span>
            <select className="input" value={agent} onChange={(e) => { setAgent(e.target.value); setModel(""); setOwn(""); }}>
              <option value="">Automatic</option>
              {agents.map((a) => <option key={a.agent} value={a.agent}>{safeName(choiceName(a))}{a.agent !== "native" && `${a.version ? ` ${safeName(a.version)}` : ""}${a.auth === "missing" ? " (not signed in)" : ""}`}</option>)}
              {looking && <option disabled>Looking for agents…</option>}
            </select>
          </label>
          <label className="field"><span>Model</span>
            <select className="input" value={model} disabled={models.length === 0} onChange={(e) => setModel(e.target.value)}>
              <option value="">{safeName(defaultModel(probe))}</option>
              {models.map((m) => <option key={m.id} value={m.id}>{m.name || m.id}</option>)}
            </select>
          </label>
          <label className="field"><span>Mode</span>
            <select className={`input${policy === fullAuto ? " loose" : ""}`} value={policy} onChange={(e) => setPolicy(e.target.value)}>{policies.map((p) => <option key={p.id} value={p.id}>{p.name}</option>)}</select>
          </label>
          {ownModes.length > 0 && (
            <label className="field"><span>The agent’s own mode</span>
              <select className="input" value={own} onChange={(e) => setOwn(e.target.value)}>
                <option value="">Default</option>
                {ownModes.map((m) => <option key={m} value={m}>{safeName(m)}</option>)}
              </select>
            </label>
          )}
          <label className="field"><span>Persona</span>
            <select className="input" value={persona} disabled={personas.length === 0} onChange={(e) => setPersona(e.target.value)}>
              <option value="">{personas.length === 0 ? "None in this folder" : "None"}</option>
              {personas.map((p) => <option key={p.id} value={p.id}>{safeName(p.id)}</option>)}
            </select>
          </label>
          {persona && (
            <label className="field"><span>It works as</span>
              <select className="input" value={mode} onChange={(e) => setMode(e.target.value)}>{modes.map((m) => <option key={m.id} value={m.id}>{m.what}</option>)}</select>
            </label>
          )}
        </div>
        <Abilities probe={probe} />
        {loose && (
          <div className="notice boxed" role="alert" ref={(el) => el?.scrollIntoView({ block: "nearest" })}>
            <strong>These restrictions would not hold</strong>
            <span>{safeText(loose)}. Choose another agent, or loosen the restrictions.</span>
          </div>
        )}
      </form>
    </Dialog>
  );
}

/** What to know about the chosen agent before the first message. */
function Abilities({ probe }: { probe: Probe | undefined }) {
  const { agentName } = useNames();
  if (!probe) return null;
  const name = safeName(probe.title || agentName(probe.agent));
  const unready = probe.auth === "missing" && probe.agent !== "native";
  return (
    <>
      {unready && (
        <div className="notice boxed" role="status">
          <strong>{name} is not signed in</strong>
          <span>{probe.fix && <Hint text={signInHint(probe.fix)} />}</span>
        </div>
      )}
      <p className="small dim">
        {!unready && probe.fix && <><Hint text={probe.fix} /> </>}
        {probe.capabilities.oversight !== "all" && oversights[String(probe.capabilities.oversight)]?.what}
      </p>
    </>
  );
}
