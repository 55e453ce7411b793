import { X } from "lucide-react";
import { useState } from "react";
import * as api from "../api/actions";
import { useSessions } from "../api/queries";
import { together } from "../lib/together";
import { isWorking } from "../model/lists";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { safeName } from "../lib/safe";
import { keep, label, useKept } from "./kept";
import { unpickAll, usePicked } from "./picked";

/** What can be done to all sessions that are selected. */
export function PickedBar() {
  const ids = usePicked((p) => p.ids);
  const picked = (useSessions().data?.items ?? []).filter((s) => ids.includes(s.id));
  if (ids.length === 0) return null;
  const working = picked.filter((s) => isWorking(s.state));
  const archive = () => {
    keep("archived", true, ...ids);
    unpickAll();
  };
  return (
    <div className="picked-bar small" role="group" aria-label="Selected sessions">
      <div>
        <span className="grow dim" role="status">{ids.length} selected</span>
        <Button tiny look="quiet" label="Select nothing" onClick={unpickAll}><X size={14} /></Button>
      </div>
      <div>
        <Button tiny look="quiet" onClick={archive}>Archive</Button>
        <Button tiny look="quiet" onClick={() => usePicked.setState({ labelling: ids })}>Label</Button>
        <Button tiny look="quiet" title="Stop the turns that run" disabled={working.length === 0} onClick={() => together("Stopped", working, (s) => api.interrupt(s.id))}>Stop</Button>
        <Button tiny look="quiet" title="End the agents' processes" onClick={() => together("Closed", picked, (s) => api.closeSession(s.id))}>Close</Button>
      </div>
    </div>
  );
}

const longest = 40; // characters that the server takes

/** The labels of some sessions, to add to and to take away. */
export function LabelDialog() {
  const ids = usePicked((p) => p.labelling);
  const labels = useKept((k) => k.labels);
  const [word, setWord] = useState("");
  if (ids.length === 0) return null;
  const own = [...new Set(ids.flatMap((id) => labels[id] ?? []))];
  const known = [...new Set(Object.values(labels).flat())].sort().filter((l) => !own.includes(l));
  const add = () => {
    const wanted = word.trim().replace(/\s+/g, " ");
    if (wanted) label(wanted, true, ...ids);
    setWord("");
  };
  return (
    <Dialog title={ids.length === 1 ? "Labels" : `Labels of ${ids.length} sessions`} description="Words by which sessions are found and grouped" onClose={() => usePicked.setState({ labelling: [] })}>
      <form className="row labels-form" onSubmit={(e) => { e.preventDefault(); add(); }}>
        <input className="input" aria-label="New label" placeholder="New label" maxLength={longest} list="known-labels" autoFocus value={word} onChange={(e) => setWord(e.target.value)} />
        <button type="submit" className="button primary" disabled={!word.trim()}>Add</button>
        <datalist id="known-labels">{known.map((l) => <option key={l} value={l} />)}</datalist>
      </form>
      <ul className="plain labels" aria-label="Labels">
        {own.map((l) => <li key={l} className="tag">{safeName(l)} <button type="button" className="link" aria-label={`Take ${safeName(l)} away`} onClick={() => label(l, false, ...ids)}><X size={12} /></button></li>)}
      </ul>
    </Dialog>
  );
}
