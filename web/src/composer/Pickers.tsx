import { useModels } from "../api/queries";
import type { Session } from "../api/types";
import { useShown } from "../conversation/context";
import { choices, fullAuto, modelName, policies } from "../lib/words";
import { useSessionActions } from "../shell/sessionActions";

/** The mode of a session: an agent may go into planning by itself. */
export const policyOf = (s: Session) => (s.permission_mode === "plan" ? "plan" : s.policy);

/** What the next turn runs with. What the agent cannot change is shown as text. */
export function Pickers() {
  const { session, conversation } = useShown();
  const actions = useSessionActions(session);
  const models = useModels(session.agent).data?.items ?? [];
  const policy = policyOf(session);
  const model = session.model || conversation.info.model;
  return (
    <div className="pickers">
      {models.some((m) => m.id !== model) ? (
        <select className="pick" aria-label="Model" value={model} onChange={(e) => actions.update({ model: e.target.value })}>
          {!models.some((m) => m.id === model) && <option value={model}>{modelName(model) || "Default model"}</option>}
          {models.map((m) => <option key={m.id} value={m.id}>{m.name || m.id}</option>)}
        </select>
      ) : (
        model && session.agent !== "native" && <span className="tag">{modelName(model)}</span>
      )}
      <select className={`pick mode${policy === fullAuto ? " loose" : ""}`} aria-label="Mode" title={`${policies.find((p) => p.id === policy)?.what ?? ""} (Shift-Tab)`} value={policy} onChange={(e) => actions.update({ policy: e.target.value })}>
        {choices(policy).map((p) => <option key={p.id} value={p.id}>{p.name}</option>)}
      </select>
      {session.persona && <span className="tag persona-tag">{session.persona}</span>}
    </div>
  );
}
