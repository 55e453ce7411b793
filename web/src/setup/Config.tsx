// The configuration: the user's file as text, and what all places together say.

import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError } from "../api/http";
import { keys } from "../api/keys";
import { safeText } from "../lib/safe";
import { say } from "../lib/toast";
import { Button } from "../ui/Button";
import { Skeleton } from "../ui/Lazy";
import { checkConfig, type Configuration, type Fault, putConfig, useConfig } from "./api";
import { wrong } from "./words";

export function Config() {
  const { data, error, isPending } = useConfig();
  return (
    <section className="column" aria-label="Configuration">
      <h2>Configuration</h2>
      {isPending && <Skeleton lines={6} />}
      {error && <p role="alert">{safeText(error.message)}</p>}
      {data && <Restart keys={data.restart ?? []} />}
      {data && <Editor key={data.hash} config={data} />}
      {data && <Settings config={data} />}
    </section>
  );
}

function Restart({ keys }: { keys: string[] }) {
  if (keys.length === 0) return null;
  return <div className="notice boxed" role="status"><strong>Restart the server</strong><span>It works with other values of <span className="mono">{safeText(keys.join(", "))}</span> until it is started again.</span></div>;
}

function Editor({ config }: { config: Configuration }) {
  const client = useQueryClient();
  const [text, setText] = useState(config.text);
  const [faults, setFaults] = useState<Fault[] | undefined>(config.faults);
  const [failed, setFailed] = useState("");
  const [stale, setStale] = useState(false);
  const [busy, setBusy] = useState(false);
  const broken = config.text === "" && (config.faults?.length ?? 0) > 0;
  const run = async (action: () => Promise<void>) => {
    setBusy(true);
    setFailed("");
    try {
      await action();
    } catch (cause) {
      setFailed(wrong(cause));
      setStale(cause instanceof ApiError && cause.status === 409);
    } finally {
      setBusy(false);
    }
  };
  const check = () => run(async () => setFaults(await checkConfig(text)));
  const save = () =>
    run(async () => {
      const found = await checkConfig(text);
      setFaults(found);
      if (found.length > 0) return;
      const now = await putConfig(text, config.hash);
      client.setQueryData(keys.config, now);
      say("The configuration is saved", now.restart?.length ? "The server takes over some of it when it is started again." : undefined);
      for (const queryKey of [keys.agents, keys.providers]) await client.invalidateQueries({ queryKey });
    });
  return (
    <>
      <p className="dim small"><span className="mono wrap">{safeText(config.path)}</span>{config.there ? "" : ", which does not exist yet"}. JSON with comments; docs/CONFIG.md explains every key. It can name programs that Terret runs: paste nothing that you do not understand.
        {config.hidden ? ` ${config.hidden === 1 ? "A value is" : `${config.hidden} values are`} not shown: leave [hidden 1] and the like where they are, or write another value.` : ""}</p>
      {broken ? <p role="alert" className="form-error">The file cannot be shown, since secrets in it cannot be told from the rest. Correct it on the server’s machine, and run <span className="mono">terret config check</span>.</p> : (
        <textarea className="input mono setup-config" aria-label="Configuration file" spellCheck={false} autoComplete="off" wrap="off" rows={Math.min(24, Math.max(8, text.split("\n").length + 1))} value={text} placeholder="{}" onChange={(e) => { setText(e.target.value); setFaults(undefined); }} />
      )}
      {faults && faults.length > 0 && (
        <ul className="plain column" role="alert" aria-label="What is wrong">
          {faults.map((f, i) => <li key={i} className="form-error">{f.line ? <strong>Line {f.line}, column {f.column}: </strong> : null}{safeText(f.message)}</li>)}
        </ul>
      )}
      {faults?.length === 0 && <p role="status" className="small dim">Nothing is wrong in it.</p>}
      {failed && <p role="alert" className="form-error">{safeText(failed)}</p>}
      <span className="row wrap">
        {!broken && <Button look="primary" disabled={busy || text === config.text} onClick={save}>Save</Button>}
        {!broken && <Button disabled={busy} onClick={check}>Check</Button>}
        {(stale || broken || text !== config.text) && <Button look="quiet" disabled={busy} onClick={() => { setText(config.text); setFailed(""); setStale(false); void client.invalidateQueries({ queryKey: keys.config }); }}>{stale ? "Read the file again" : "Put it back"}</Button>}
      </span>
    </>
  );
}

function Settings({ config }: { config: Configuration }) {
  const [all, setAll] = useState(false);
  const shown = config.settings.filter((s) => all || s.from !== "default" || s.restart);
  return (
    <>
      <h3>What holds here</h3>
      <p className="dim small">All places together: your file, a trusted project’s, variables and flags.</p>
      <dl className="setup-settings" aria-label="Settings">
        {shown.map((s) => (
          <div key={s.key}>
            <dt className="mono">{safeText(s.key)}</dt>
            <dd>
              <span className="mono wrap">{safeText(s.value)}</span>
              <span className="dim small wrap">{s.from === "default" ? "default" : safeText(s.from)}{s.restart ? " · after a restart" : ""}</span>
              {all && s.about && <span className="small">{safeText(s.about)}{s.variable ? <> Also <span className="mono">{safeText(s.variable)}</span>.</> : null}</span>}
            </dd>
          </div>
        ))}
      </dl>
      {shown.length === 0 && <p className="dim">Everything has its default.</p>}
      <span><Button look="quiet" tiny aria-expanded={all} onClick={() => setAll(!all)}>{all ? "Show what is set" : `Show all ${config.settings.length} keys`}</Button></span>
    </>
  );
}
