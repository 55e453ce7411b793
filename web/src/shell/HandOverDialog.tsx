import { useState } from "react";
import { useNames } from "../api/names";
import { useInstalled, useModels } from "../api/queries";
import type { Session } from "../api/types";
import { safeName } from "../lib/safe";
import { choiceName, defaultModel, signInHint } from "../lib/words";
import { isWorking } from "../model/lists";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Hint } from "../ui/Hint";
import { useHandOver } from "./useHandOver";

/** Has another agent continue a session. */
export default function HandOverDialog({ session, onClose }: { session: Session; onClose: () => void }) {
  const { agentName, nameOf } = useNames();
  const { busy, run } = useHandOver(session, onClose);
  const { agents, looking } = useInstalled();
  const [chosen, setChosen] = useState("");
  const [model, setModel] = useState("");
  const [next, setNext] = useState("");
  const agent = chosen || (agents.find((a) => a.agent !== session.agent) ?? agents[0])?.agent || "";
  const models = useModels(agent).data?.items ?? [];
  const probe = agents.find((a) => a.agent === agent);
  const unready = probe?.auth === "missing" && agent !== "native";
  const hand = () => run("The session was not handed over", { agent, ...(model ? { model } : {}), ...(next.trim() ? { prompt: next.trim() } : {}) });
  return (
    <Dialog title="Hand over" description="Has another agent continue this session" onClose={onClose} foot={
      <>
        <Button look="quiet" onClick={onClose}>Cancel</Button>
        <button type="submit" form="hand-over" className="button primary" disabled={!agent || busy || unready}>Hand over</button>
      </>
    }>
      <form id="hand-over" className="column form" onSubmit={(e) => { e.preventDefault(); void hand(); }}>
        <p className="small dim">
          A new session in the same folder begins with an account of this one: messages, decisions, plan and changed files. This session stays as it is{isWorking(session.state) ? `, and ${nameOf(session)} goes on with its turn` : ""}.
        </p>
        <div className="form-grid">
          <label className="field"><span>To</span>
            <select className="input" autoFocus value={agent} onChange={(e) => { setChosen(e.target.value); setModel(""); }}>
              {agents.map((a) => <option key={a.agent} value={a.agent}>{safeName(choiceName(a))}{a.auth === "missing" && a.agent !== "native" ? " (not signed in)" : ""}</option>)}
              {looking && <option disabled>Looking for agents…</option>}
            </select>
          </label>
          <label className="field"><span>Model</span>
            <select className="input" value={model} disabled={models.length === 0} onChange={(e) => setModel(e.target.value)}>
              <option value="">{safeName(defaultModel(probe))}</option>
              {models.map((m) => <option key={m.id} value={m.id}>{safeName(m.name || m.id)}</option>)}
            </select>
          </label>
        </div>
        {unready && <div className="notice boxed" role="status"><strong>{safeName(agentName(agent))} is not signed in</strong><span>{probe?.fix && <Hint text={signInHint(probe.fix)} />}</span></div>}
        <label className="field"><span>What should it do next?</span>
          <textarea className="input" rows={3} placeholder="Optional. It continues the work." value={next} onChange={(e) => setNext(e.target.value)} />
        </label>
      </form>
    </Dialog>
  );
}
