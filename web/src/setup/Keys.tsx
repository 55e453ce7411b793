// Keys of models' APIs: they go in, and never come out.

import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "../api/keys";
import { safeName, safeText } from "../lib/safe";
import { attempt, say } from "../lib/toast";
import { Button } from "../ui/Button";
import { Skeleton } from "../ui/Lazy";
import { addKey, removeKey, useKept, useProviders } from "./api";
import { whereKept, wrong } from "./words";

export function Keys() {
  const client = useQueryClient();
  const { data, error, isPending } = useKept();
  const providers = useProviders().data?.items ?? [];
  const [name, setName] = useState("");
  const [key, setKey] = useState("");
  const [failed, setFailed] = useState("");
  const [busy, setBusy] = useState(false);
  const kept = data?.items ?? [];
  const open = providers.filter((p) => p.key !== "not needed" && !kept.some((k) => k.name === p.name));
  const changed = () => Promise.all([keys.kept, keys.providers, keys.agents, ["models"]].map((queryKey) => client.invalidateQueries({ queryKey })));
  const add = async () => {
    const given = key;
    setKey(""); // whatever becomes of it, it is not shown again
    setBusy(true);
    setFailed("");
    try {
      const made = await addKey(name, given);
      say(`The key of ${made.name} is kept`, whereKept(made.where));
      setName("");
      await changed();
    } catch (cause) {
      setFailed(wrong(cause));
    } finally {
      setBusy(false);
    }
  };
  const drop = async (of: string) => {
    if (!window.confirm(`Forget the key of ${safeName(of)}? Nobody can read it here to write it down first.`)) return;
    await attempt("The key was not removed", () => removeKey(of));
    await changed();
  };
  return (
    <section className="column" aria-label="Keys">
      <h2>Keys of models’ APIs</h2>
      <p className="dim small">For Terret’s own agent; the others sign in by themselves. A key that is kept is never shown again, not even a part of it. A variable of the server’s environment counts more.</p>
      {isPending && <Skeleton lines={2} />}
      {error && <p role="alert">{error.message}</p>}
      {data && kept.length === 0 && <p className="dim">No key is kept.</p>}
      <ul className="plain">
        {kept.map((k) => (
          <li key={k.name} className="setting">
            <span><strong>{safeName(k.name)}</strong><span className="dim small">{whereKept(k.where)}</span></span>
            <Button look="quiet" tiny aria-label={`Remove the key of ${safeName(k.name)}`} onClick={() => drop(k.name)}>Remove</Button>
          </li>
        ))}
      </ul>
      <form className="column form" autoComplete="off" aria-label="Keep a key" onSubmit={(e) => { e.preventDefault(); void add(); }}>
        <div className="setup-row">
          <label className="field"><span>Provider</span>
            <select className="input" value={name} required onChange={(e) => setName(e.target.value)}>
              <option value="">Choose…</option>
              {open.map((p) => <option key={p.name} value={p.name}>{safeName(p.title || p.name)}</option>)}
            </select>
          </label>
          <label className="field grow"><span>Key</span>
            <input className="input mono" type="password" autoComplete="off" spellCheck={false} data-1p-ignore="" data-lpignore="true" value={key} maxLength={8192} required onChange={(e) => setKey(e.target.value)} />
          </label>
          <button type="submit" className="button" disabled={busy || !name || !key}>Keep</button>
        </div>
        {failed && <p role="alert" className="form-error">{safeText(failed)}</p>}
      </form>
    </section>
  );
}
