import { useState } from "react";
import type { TeamMember } from "../api/types";
import { safeName } from "../lib/safe";
import { attempt } from "../lib/toast";
import { choiceName } from "../lib/words";
import { FolderPicker, useFolder } from "../shell/FolderPicker";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { spawn } from "./api";
import { useReady } from "./parts";

const person = "person";

export function SpawnDialog({ members, onClose, onDone }: { members: readonly TeamMember[]; onClose: () => void; onDone: () => Promise<unknown> }) {
  const agents = useReady();
  const [name, setName] = useState("");
  const [kind, setKind] = useState("");
  const [cwd, setCwd] = useFolder();
  const [told, setTold] = useState("");
  const [topics, setTopics] = useState("");
  const [lead, setLead] = useState("");
  const [busy, setBusy] = useState(false);
  const agent = kind || agents[0]?.agent || "";
  const human = agent === person;
  const add = async () => {
    setBusy(true);
    const list = topics.split(/[\s,]+/).map((t) => t.replace(/^#/, "")).filter(Boolean);
    const made = await attempt("The member was not added", () => spawn({
      name: name.trim(), agent, ...(human ? {} : { cwd }), ...(told.trim() && !human ? { instructions: told.trim() } : {}),
      ...(list.length > 0 ? { topics: list } : {}), ...(lead ? { reports_to: lead } : {}),
    }));
    setBusy(false);
    if (!made) return;
    onClose();
    await onDone();
  };
  return (
    <Dialog title="Add a member" description="Adds an agent or a person to the team" onClose={onClose} foot={
      <>
        <span className="grow small faint">{human ? "People get mail and answer it here or with terret team." : "It edits files in its folder without asking. It starts with its first message."}</span>
        <Button look="quiet" onClick={onClose}>Cancel</Button>
        <button type="submit" form="spawn" className="button primary" disabled={!name.trim() || !agent || busy || (!human && !cwd)}>Add</button>
      </>
    }>
      <form id="spawn" className="column form" onSubmit={(e) => { e.preventDefault(); void add(); }}>
        <div className="form-grid">
          <label className="field"><span>Name</span><input className="input" autoFocus required maxLength={64} placeholder="builder" value={name} onChange={(e) => setName(e.target.value)} /></label>
          <label className="field"><span>Agent</span>
            <select className="input" value={agent} onChange={(e) => setKind(e.target.value)}>
              {agents.map((a) => <option key={a.agent} value={a.agent}>{safeName(choiceName(a))}</option>)}
              <option value={person}>A person</option>
            </select>
          </label>
        </div>
        {!human && <FolderPicker cwd={cwd} onCwd={setCwd} />}
        {!human && (
          <label className="field"><span>What is its job?</span>
            <textarea className="input" rows={3} placeholder="Optional. For example: you review what the builder writes." value={told} onChange={(e) => setTold(e.target.value)} />
          </label>
        )}
        <div className="form-grid">
          <label className="field"><span>Topics it follows</span><input className="input" placeholder="Optional: tests, docs" value={topics} onChange={(e) => setTopics(e.target.value)} /></label>
          <label className="field"><span>Reports to</span>
            <select className="input" value={lead} onChange={(e) => setLead(e.target.value)}>
              <option value="">Nobody</option>
              {members.map((m) => <option key={m.name} value={m.name}>{safeName(m.name)}</option>)}
            </select>
          </label>
        </div>
      </form>
    </Dialog>
  );
}
