import { ArrowRight } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { useNames } from "../api/names";
import { useInstalled, useModels, useRoots, useSessions } from "../api/queries";
import { baseName } from "../lib/format";
import { safeName, safeText } from "../lib/safe";
import { getDraft, remember, setDraft, useSettings, useView } from "../lib/state";
import { choiceName, choices, defaultModel, fullAuto, policies } from "../lib/words";
import { Button } from "../ui/Button";
import { focusFirstRequest } from "../requests/useFocus";
import { Away } from "./Away";
import { startSession } from "./startSession";
import { slug, useWhere, WherePicker } from "./WherePicker";

const draft = "home";
const folders = 12;

/** A new session in one sentence: what to do, where, by whom, and how carefully. */
export function HomeComposer() {
  const { agentName } = useNames();
  const roots = useRoots().data?.items;
  const sessions = useSessions().data?.items;
  const { agents, looking } = useInstalled();
  const { lastFolder, lastAgent, lastPolicy } = useSettings();
  const [text, setText] = useState(() => getDraft(draft));
  const [chosen, setChosen] = useState("");
  const [model, setModel] = useState("");
  const [busy, setBusy] = useState(false);
  const [loose, setLoose] = useState("");
  const area = useRef<HTMLTextAreaElement>(null);

  const places = useMemo(() => [...new Set([
    ...(roots?.some((r) => lastFolder === r.path || lastFolder.startsWith(`${r.path}/`)) ? [lastFolder] : []),
    ...(sessions ?? []).map((s) => s.cwd),
    ...(roots ?? []).map((r) => r.path),
  ])].slice(0, folders), [roots, sessions, lastFolder]);
  const cwd = chosen || places[0] || "";
  // Until it is known which are there, the one that was chosen is the one that starts.
  const agent = looking || agents.some((a) => a.agent === lastAgent) ? lastAgent : "";
  const [auto, setAuto] = useState(false);
  const policy = auto ? fullAuto : lastPolicy;
  const setPolicy = (next: string) => {
    setAuto(next === fullAuto);
    if (next !== fullAuto) useSettings.setState({ lastPolicy: next });
  };
  const { tree, setTree } = useWhere(cwd);
  const models = useModels(agent).data?.items ?? [];

  useEffect(() => {
    if (matchMedia("(min-width: 700px)").matches) area.current?.focus({ preventScroll: true });
  }, []);

  const change = (next: string) => {
    setText(next);
    setDraft(draft, next);
  };
  const start = async (unenforced = false) => {
    const first = text.trim();
    if (!first || !cwd || busy) return;
    setBusy(true);
    setLoose("");
    const made = await startSession(
      { cwd, policy, ...(agent ? { agent } : {}), ...(model ? { model } : {}), ...(unenforced ? { unenforced } : {}), ...(tree ? { worktree: true, branch: slug(first) } : {}) }, first, setLoose,
    );
    setBusy(false);
    if (!made) return;
    remember(first);
    change("");
  };
  return (
    <form className="composer home-composer" aria-label="New session" onSubmit={(e) => { e.preventDefault(); void start(); }}>
      <Away />
      <div className="composer-box">
        <textarea ref={area} rows={3} dir="auto" aria-label="What should the agent do?" placeholder="What should the agent do?" value={text} onChange={(e) => change(e.target.value)}
          onKeyDown={(e) => {
            if (e.nativeEvent.isComposing) return;
            if (e.altKey && e.code === "KeyW") {
              e.preventDefault();
              e.stopPropagation();
              setTree(!tree);
            } else if (e.key === "Enter" && !e.shiftKey) {
              e.preventDefault();
              void start();
            } else if (e.key === "ArrowDown" && text === "" && focusFirstRequest()) e.preventDefault();
          }} />
        <div className="composer-foot">
          <div className="pickers">
            <select className="pick" aria-label="Project" title={safeName(cwd)} value={cwd} onChange={(e) => setChosen(e.target.value)}>
              {places.map((p) => <option key={p} value={p}>{safeName(baseName(p))}</option>)}
            </select>
            <WherePicker cwd={cwd} text={text} />
            <select className="pick" aria-label="Agent" value={agent} onChange={(e) => { useSettings.setState({ lastAgent: e.target.value }); setModel(""); }}>
              <option value="">Automatic</option>
              {agent && !agents.some((a) => a.agent === agent) && <option value={agent}>{safeName(agentName(agent))}</option>}
              {agents.map((a) => <option key={a.agent} value={a.agent}>{safeName(choiceName(a))}</option>)}
              {looking && <option disabled>Looking for agents…</option>}
            </select>
            {models.length > 1 && (
              <select className="pick" aria-label="Model" value={model} onChange={(e) => setModel(e.target.value)}>
                <option value="">{safeName(defaultModel(agents.find((a) => a.agent === agent)))}</option>
                {models.map((m) => <option key={m.id} value={m.id}>{safeName(m.name || m.id)}</option>)}
              </select>
            )}
            <select className={`pick mode${auto ? " loose" : ""}`} aria-label="Mode" title={policies.find((p) => p.id === policy)?.what} value={policy} onChange={(e) => setPolicy(e.target.value)}>
              {choices(policy).map((p) => <option key={p.id} value={p.id}>{p.name}</option>)}
            </select>
          </div>
          <span className="grow" />
          <Button tiny look="quiet" onClick={() => useView.setState({ overlay: "new-session" })}>More…</Button>
          <button type="submit" className={`button tiny primary${auto ? " loose" : ""}`} disabled={!text.trim() || !cwd || busy}>{auto ? "Start in full auto" : "Start"} <kbd>⏎</kbd><ArrowRight size={12} className="phone-only" aria-hidden="true" /></button>
        </div>
      </div>
      {loose && (
        <div className="notice boxed" role="alert">
          <strong>These restrictions would not hold</strong>
          <span>{safeText(loose)}. Choose another agent or mode.</span>
          <span><Button tiny look="danger" onClick={() => void start(true)}>Start anyway</Button></span>
        </div>
      )}
    </form>
  );
}
