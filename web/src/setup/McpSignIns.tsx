// MCP servers at which Terret's own agent is signed in.

import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "../api/keys";
import { safeName, safeText } from "../lib/safe";
import { attempt } from "../lib/toast";
import { Button } from "../ui/Button";
import { Skeleton } from "../ui/Lazy";
import { answerSignIn, beginSignIn, cancelSignIn, type McpSignIn, signOut, useSignIns } from "./api";
import { whereKept, wrong } from "./words";

/** The host in the name that a sign-in is kept under. */
const hostOf = (name: string) => /^mcp-(.+)-[0-9a-f]{12}$/.exec(name)?.[1] ?? name;

const every = 1_500;

export function McpSignIns() {
  const client = useQueryClient();
  const [mine, setMine] = useState(false);
  const { data, error, isPending } = useSignIns(mine ? every : false);
  const [server, setServer] = useState("");
  const [failed, setFailed] = useState("");
  const [busy, setBusy] = useState(false);
  const last = mine ? data?.last : undefined;
  const look = () => client.invalidateQueries({ queryKey: keys.signIns });
  const begin = async () => {
    setBusy(true);
    setFailed("");
    try {
      await beginSignIn(server.trim());
      await look();
      setMine(true);
    } catch (cause) {
      setFailed(wrong(cause));
    } finally {
      setBusy(false);
    }
  };
  const leave = async (name: string) => {
    await attempt("You are still signed in", () => signOut(name));
    await look();
  };
  return (
    <section className="column" aria-label="MCP servers">
      <h2>MCP servers</h2>
      <p className="dim small">Servers that want Terret’s own agent to sign in. Other agents sign in to theirs by themselves.</p>
      {isPending && <Skeleton lines={2} />}
      {error && <p role="alert">{safeText(error.message)}</p>}
      {data?.items.length === 0 && <p className="dim">You are not signed in to any MCP server.</p>}
      <ul className="plain">
        {data?.items.map((k) => (
          <li key={k.name} className="setting">
            <span><strong>{safeText(hostOf(k.name))}</strong><span className="dim small">{whereKept(k.where)}, as {safeName(k.name)}</span></span>
            <Button look="quiet" tiny aria-label={`Sign out of ${safeText(hostOf(k.name))}`} onClick={() => leave(k.name)}>Sign out</Button>
          </li>
        ))}
      </ul>
      <form className="column form" aria-label="Sign in to an MCP server" onSubmit={(e) => { e.preventDefault(); void begin(); }}>
        <div className="setup-row">
          <label className="field grow"><span>Address of the server</span>
            <input className="input mono" value={server} maxLength={2000} spellCheck={false} required placeholder="https://mcp.example.com/mcp" onChange={(e) => setServer(e.target.value)} />
          </label>
          <button type="submit" className="button" disabled={busy || !server.trim()}>{busy ? "Asking it…" : "Sign in"}</button>
        </div>
        {failed && <p role="alert" className="form-error">{safeText(failed)}</p>}
      </form>
      {last && <Waiting key={last.server} last={last} onChange={look} />}
    </section>
  );
}

/** How the sign-in that was begun here stands. */
function Waiting({ last, onChange }: { last: McpSignIn; onChange: () => Promise<unknown> }) {
  const [address, setAddress] = useState("");
  if (last.state === "done") return <p role="status">You are signed in to <span className="mono wrap">{safeText(last.server)}</span>.</p>;
  if (last.state === "not needed") return <p role="status"><span className="mono wrap">{safeText(last.server)}</span> lets you in already; no sign-in is needed.</p>;
  if (last.state === "failed") return <p role="alert" className="form-error">{safeText(last.why ?? "The sign-in failed.")}</p>;
  if (last.state === "cancelled") return <p role="status">Nobody signed in.</p>;
  const web = last.link && /^https?:\/\//.test(last.link) ? last.link : undefined;
  const answer = async () => {
    const given = address;
    setAddress("");
    await attempt("It was not taken", () => answerSignIn(given));
    await onChange();
  };
  return (
    <div className="notice boxed column" role="status">
      <strong>Sign in to {safeText(last.server)}</strong>
      {web && <span><a className="button" href={web} target="_blank" rel="noopener noreferrer">Open {safeText(new URL(web).host)}</a></span>}
      <p className="small">The page that you come to in the end is on the machine on which Terret runs. If this browser is there, too, all is done then. If not, the browser cannot open that page: copy its address from the address bar to here.</p>
      <form className="setup-row" aria-label="Where the browser ended" autoComplete="off" onSubmit={(e) => { e.preventDefault(); void answer(); }}>
        <label className="field grow"><span>Address that could not be opened</span>
          <input className="input mono" autoComplete="off" spellCheck={false} value={address} placeholder="http://127.0.0.1:…/callback?code=…" onChange={(e) => setAddress(e.target.value)} />
        </label>
        <button type="submit" className="button" disabled={!address.trim()}>Done</button>
        <Button look="quiet" onClick={async () => { await attempt("It was not cancelled", cancelSignIn); await onChange(); }}>Cancel</Button>
      </form>
    </div>
  );
}
