// Servers with models, by their addresses.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "../api/keys";
import { plural } from "../lib/format";
import { safeName, safeText } from "../lib/safe";
import { attempt } from "../lib/toast";
import { Button } from "../ui/Button";
import { Hint } from "../ui/Hint";
import { Skeleton } from "../ui/Lazy";
import { addProvider, modelsOf, type Provider, removeProvider, useProviders } from "./api";
import { wrong } from "./words";

const apis: [string, string, string][] = [
  ["chat", "OpenAI’s Chat Completions (most servers)", "http://127.0.0.1:8000/v1"], ["responses", "OpenAI’s Responses", "https://api.openai.com/v1"],
  ["anthropic", "Anthropic’s Messages", "https://api.anthropic.com"], ["gemini", "Google’s Gemini", "https://generativelanguage.googleapis.com"],
];

const keyWords: Record<string, string> = { "not needed": "needs no key", variable: "key in the environment", kept: "key kept", missing: "no key yet", unreadable: "its key cannot be read" };

export function Providers() {
  const { data, error, isPending } = useProviders();
  return (
    <section className="column" aria-label="Servers with models">
      <h2>Servers with models</h2>
      <p className="dim small">What Terret’s own agent can use. A server that you add is written to your configuration, and can be used at once as NAME/MODEL.</p>
      {isPending && <Skeleton lines={5} />}
      {error && <p role="alert">{safeText(error.message)}</p>}
      <ul className="plain">{data?.items.map((p) => <One key={p.name} provider={p} />)}</ul>
      <Add />
    </section>
  );
}

function useChanged() {
  const client = useQueryClient();
  return () => Promise.all([keys.providers, keys.agents, keys.config, ["models"], ["models-of"]].map((queryKey) => client.invalidateQueries({ queryKey })));
}

function One({ provider: p }: { provider: Provider }) {
  const changed = useChanged();
  const [open, setOpen] = useState(false);
  const models = useQuery({ queryKey: ["models-of", p.name, p.key], enabled: open, retry: false, gcTime: 0, queryFn: () => modelsOf(p.name) });
  const drop = async () => {
    if (!window.confirm(`Remove ${safeName(p.name)} from your configuration? Sessions with its models cannot be continued then.`)) return;
    await attempt("It was not removed", () => removeProvider(p.name));
    await changed();
  };
  return (
    <li className="column setup-one">
      <div className="setting">
        <span>
          <strong>{safeName(p.title || p.name)}</strong>
          <span className="dim small"><span className="mono">{safeText(p.base_url)}</span> · {keyWords[p.key] ?? p.key}</span>
        </span>
        <span className="row">
          <Button look="quiet" tiny aria-expanded={open} aria-label={`Models of ${safeName(p.name)}`} onClick={() => setOpen(!open)}>Models</Button>
          {p.added && <Button look="quiet" tiny aria-label={`Remove ${safeName(p.name)}`} onClick={drop}>Remove</Button>}
        </span>
      </div>
      {open && models.isPending && <Skeleton lines={2} />}
      {open && models.error && <p role="alert" className="form-error"><Hint text={wrong(models.error)} /></p>}
      {open && models.data && (
        <>
          <p className="small dim">{models.data.items.length === 0 ? "It has no models." : plural(models.data.items.length, "model")}</p>
          <ul className="plain setup-models" aria-label={`Models of ${safeName(p.name)}`} tabIndex={0}>
            {models.data.items.map((m) => <li key={m.id} className="mono small">{safeText(m.id)}</li>)}
          </ul>
        </>
      )}
    </li>
  );
}

function Add() {
  const changed = useChanged();
  const [name, setName] = useState("");
  const [address, setAddress] = useState("");
  const [api, setApi] = useState("chat");
  const [env, setEnv] = useState("");
  const [failed, setFailed] = useState("");
  const [busy, setBusy] = useState(false);
  const add = async () => {
    setBusy(true);
    setFailed("");
    try {
      await addProvider({ name: name.trim(), base_url: address.trim(), api, ...(env.trim() ? { key_env: env.trim() } : {}) });
      setName("");
      setAddress("");
      setEnv("");
      await changed();
    } catch (cause) {
      setFailed(wrong(cause));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form className="column form" aria-label="Add a server with models" onSubmit={(e) => { e.preventDefault(); void add(); }}>
      <h3>Add a server</h3>
      <div className="setup-grid">
        <label className="field"><span>Name</span><input className="input" value={name} maxLength={64} spellCheck={false} required placeholder="lab" onChange={(e) => setName(e.target.value)} /></label>
        <label className="field"><span>Kind of API</span>
          <select className="input" value={api} onChange={(e) => setApi(e.target.value)}>{apis.map(([id, label]) => <option key={id} value={id}>{label}</option>)}</select>
        </label>
        <label className="field"><span>Address</span><input className="input mono" value={address} maxLength={2000} spellCheck={false} required placeholder={apis.find(([id]) => id === api)?.[2]} onChange={(e) => setAddress(e.target.value)} /></label>
        <label className="field"><span>Variable of its key (empty: it needs none)</span><input className="input mono" value={env} maxLength={200} spellCheck={false} autoComplete="off" placeholder="LAB_API_KEY" onChange={(e) => setEnv(e.target.value)} /></label>
      </div>
      <p className="dim small">If it needs a key, name a variable even if it is not set: then a key that you keep above counts.</p>
      {failed && <p role="alert" className="form-error">{safeText(failed)}</p>}
      <span><button type="submit" className="button" disabled={busy || !name.trim() || !address.trim()}>Add</button></span>
    </form>
  );
}
