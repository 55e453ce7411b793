// The agents' programs: which are there, and how to get the others.

import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { keys } from "../api/keys";
import { useAgents } from "../api/queries";
import type { Probe } from "../api/types";
import { safeName, safeText } from "../lib/safe";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Hint } from "../ui/Hint";
import { Skeleton } from "../ui/Lazy";
import { cancelInstall, follow, install, type Installation, type Installer, useInstallation, useInstallers } from "./api";
import { wrong } from "./words";

const tested: Record<string, string> = { yes: "tested", newer: "newer than tested", older: "older than tested" };

const most = 200_000;

function stateOf(p: Pick<Probe, "found" | "path" | "auth" | "version"> & { tested?: string | undefined }): string {
  if (!p.found) return p.path ? "does not answer" : "not installed";
  const signedIn = p.auth === "ok" ? "signed in" : p.auth === "missing" ? "not signed in" : "cannot tell who is signed in";
  return [p.version, p.tested ? tested[p.tested] : "", signedIn].filter(Boolean).join(" · ");
}

export function Install() {
  const agents = useAgents();
  const installers = useInstallers();
  const { data: last } = useInstallation();
  const client = useQueryClient();
  const [asking, setAsking] = useState<Installer>();
  const [failed, setFailed] = useState("");
  const begin = async (i: Installer) => {
    setAsking(undefined);
    setFailed("");
    try {
      client.setQueryData(keys.installation, await install(i.agent));
    } catch (cause) {
      setFailed(wrong(cause));
      await client.invalidateQueries({ queryKey: keys.installation });
    }
  };
  const busy = last?.state === "running";
  return (
    <section className="column" aria-label="Agents">
      <h2>Agents</h2>
      {agents.isPending && <Skeleton lines={8} />}
      {(agents.error ?? installers.error) && <p role="alert">{safeText(String((agents.error ?? installers.error)!.message))}</p>}
      <ul className="plain">
        {agents.data?.items.filter((p) => p.agent !== "mock").map((p) => {
          const i = installers.data?.items.find((x) => x.agent === p.agent);
          const wanted = i && (!p.found || p.tested === "older" || p.tested === "newer");
          return (
            <li key={p.agent} className="setting" aria-label={safeName(p.agent)}>
              <span>
                <strong>{safeName(p.title || p.agent)}</strong>
                <span className="dim small">{safeText(stateOf(p))}</span>
                {p.fix && <span className="small"><Hint text={p.fix} /></span>}
                {wanted && i.missing && <span className="small">{safeText(i.missing)}.</span>}
                {wanted && !i.runs && <span className="dim small">This command is not run from here: read it, and run it in a terminal.</span>}
              </span>
              {wanted && i.runs && !i.missing && <Button tiny disabled={busy} aria-label={`Install ${safeName(p.title || p.agent)}…`} onClick={() => setAsking(i)}>{p.found ? "Tested version…" : "Install…"}</Button>}
            </li>
          );
        })}
      </ul>
      {failed && <p role="alert" className="form-error">{safeText(failed)}</p>}
      {last && <Progress key={last.began_at} first={last} />}
      {asking && (
        <Dialog title={`Install ${safeName(asking.title || asking.agent)}?`} description="Runs a command on the server’s machine" onClose={() => setAsking(undefined)} foot={
          <>
            <Button look="quiet" autoFocus onClick={() => setAsking(undefined)}>Cancel</Button>
            <Button look="primary" onClick={() => begin(asking)}>Run it</Button>
          </>
        }>
          <p>This command runs on the machine on which Terret runs, as the same user:</p>
          <pre className="mono wrap setup-command">{safeText(asking.command)}</pre>
          <p className="small dim">It downloads a package from the internet; packages may run programs of their own while they are installed. You can cancel it; what it has written until then stays.</p>
        </Dialog>
      )}
    </section>
  );
}

const outcomes: Record<string, string> = { running: "is being installed…", done: "is installed", failed: "was not installed", cancelled: "was cancelled" };

/** What an installation prints, as it comes. */
function Progress({ first }: { first: Installation }) {
  const client = useQueryClient();
  const [now, setNow] = useState(first);
  const [text, setText] = useState("");
  const [stopping, setStopping] = useState(false);
  const box = useRef<HTMLPreElement>(null);
  useEffect(() => {
    const stop = new AbortController();
    setText("");
    void follow(
      (more) => setText((before) => (before + more).slice(-most)),
      (state) => {
        setNow(state);
        if (state.state === "running") return;
        client.setQueryData(keys.installation, state);
        void client.invalidateQueries({ queryKey: keys.agents });
      },
      stop.signal,
    );
    return () => stop.abort();
  }, [client]);
  useEffect(() => { box.current?.scrollTo({ top: box.current.scrollHeight }); }, [text]);
  const p = now.probe;
  return (
    <div className="column" role="group" aria-label="Installation">
      <div className="row">
        <strong className="grow" role="status">{safeName(now.agent)} {outcomes[now.state]}{now.why ? `: ${safeText(now.why)}` : ""}</strong>
        {now.state === "running" && <Button tiny disabled={stopping} onClick={() => { setStopping(true); void cancelInstall().catch(() => undefined); }}>{stopping ? "Cancelling…" : "Cancel"}</Button>}
      </div>
      <pre ref={box} className="setup-output mono small" tabIndex={0} aria-label="Output">{safeText(text)}</pre>
      {now.state === "done" && p && <p className="small">{p.found ? `It answers: ${safeText(stateOf(p))}.` : "Its program does not answer."} {p.fix && <Hint text={p.fix} />}</p>}
    </div>
  );
}
