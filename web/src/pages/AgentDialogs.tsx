import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { addAgent, removeAgent } from "../api/actions";
import { ApiError } from "../api/http";
import { keys } from "../api/keys";
import { splitCommand } from "../lib/argv";
import { sentence } from "../lib/format";
import { say } from "../lib/toast";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";

/** What went wrong, without the name of the field that it is about. */
const words = (cause: unknown) => {
  const text = cause instanceof Error ? cause.message : String(cause);
  return sentence(text.replace(/^(name|argv|env): /, ""));
};

/** Adds a program that speaks the Agent Client Protocol. */
export function AddAgentDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [command, setCommand] = useState("");
  const [env, setEnv] = useState("");
  const [error, setError] = useState("");
  const [missing, setMissing] = useState(false);
  const [force, setForce] = useState(false);
  const [busy, setBusy] = useState(false);
  const argv = splitCommand(command);

  const add = async () => {
    if (!argv) return setError("A quote in the command is not closed.");
    setBusy(true);
    setError("");
    const variables = env.split(/[\s,]+/).filter(Boolean);
    try {
      const made = await addAgent({ name: name.trim(), argv, ...(variables.length > 0 ? { env: variables } : {}), ...(force ? { force } : {}) });
      await client.invalidateQueries({ queryKey: keys.agents });
      say(made.found ? `${made.agent} is ready to use` : `${made.agent} was added`, made.fix);
      onClose();
    } catch (cause) {
      setError(words(cause));
      setMissing(cause instanceof ApiError && cause.field === "argv");
      setBusy(false);
    }
  };
  return (
    <Dialog title="Add an agent" description="Any program that speaks the Agent Client Protocol" onClose={onClose} foot={
      <>
        <Button look="quiet" onClick={onClose}>Cancel</Button>
        <button type="submit" form="add-agent" className="button primary" disabled={busy || !name.trim() || !command.trim()}>{busy ? "Starting it…" : "Add"}</button>
      </>
    }>
      <form id="add-agent" className="column form" onSubmit={(e) => { e.preventDefault(); void add(); }}>
        <p className="small dim">Any program that speaks the Agent Client Protocol (ACP). Terret runs it on the machine it runs on itself, as the same user.</p>
        <label className="field"><span>Name</span>
          <input className="input" autoFocus value={name} maxLength={64} spellCheck={false} placeholder="mine" onChange={(e) => setName(e.target.value)} required />
        </label>
        <label className="field"><span>Command</span>
          <input className="input mono" value={command} spellCheck={false} placeholder="my-agent --acp" onChange={(e) => { setCommand(e.target.value); setMissing(false); setForce(false); }} required />
        </label>
        <label className="field"><span>Secret variables it may see (optional)</span>
          <input className="input mono" value={env} spellCheck={false} placeholder="MY_API_KEY" onChange={(e) => setEnv(e.target.value)} />
        </label>
        {error && <p role="alert" className="form-error">{error}</p>}
        {missing && <label className="row small"><input type="checkbox" checked={force} onChange={(e) => setForce(e.target.checked)} /> Add it although the program cannot be started yet</label>}
      </form>
    </Dialog>
  );
}

export function RemoveAgentDialog({ agent, onClose }: { agent: string; onClose: () => void }) {
  const client = useQueryClient();
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const remove = async () => {
    setBusy(true);
    try {
      await removeAgent(agent);
      await client.invalidateQueries({ queryKey: keys.agents });
      onClose();
    } catch (cause) {
      setError(words(cause));
      setBusy(false);
    }
  };
  return (
    <Dialog title={`Remove ${agent}?`} description="Removes the agent from the configuration" onClose={onClose} foot={
      <>
        <Button look="quiet" onClick={onClose} autoFocus>Keep it</Button>
        <Button look="danger" disabled={busy} onClick={remove}>Remove</Button>
      </>
    }>
      <p>It is taken out of your configuration. Its sessions can still be read, but not continued. The program itself stays.</p>
      {error && <p role="alert" className="form-error">{error}</p>}
    </Dialog>
  );
}
