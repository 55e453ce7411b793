// Who is told elsewhere: a phone with ntfy, a program with a webhook.

import { useState } from "react";
import { clock, plural, sentence, since } from "../lib/format";
import { safeName, safeText } from "../lib/safe";
import { attempt } from "../lib/toast";
import { Button } from "../ui/Button";
import { Skeleton } from "../ui/Lazy";
import { Link } from "../ui/Link";
import { type Channel, type Delivery, moments, type Notify, tryChannel, useChange, useNotify, wrong } from "./notifyApi";
import { ChannelDialog } from "./NotifyChannel";

export function Elsewhere() {
  const { data, error, isPending } = useNotify();
  const [editing, setEditing] = useState<Channel | "new">();
  return (
    <section className="column" aria-label="Told elsewhere">
      <h2>Told elsewhere</h2>
      <p className="dim small">Without a browser: an app such as ntfy on your phone, or a program that takes a webhook. It works while the server runs.</p>
      {isPending && <Skeleton lines={2} />}
      {error && <p role="alert">{safeText(error.message)}</p>}
      {data?.channels.length === 0 && <p className="dim">Nobody is told elsewhere.</p>}
      <ul className="plain">
        {data?.channels.map((c) => <One key={c.id} channel={c} onEdit={() => setEditing(c)} />)}
      </ul>
      {data && <span><Button onClick={() => setEditing("new")}>Add a channel…</Button></span>}
      {data && data.channels.length > 0 && <Base key={data.base_url ?? ""} address={data.base_url ?? ""} />}
      {data && <Undelivered state={data} />}
      {editing && data && <ChannelDialog channel={editing === "new" ? undefined : editing} taken={data.channels.map((c) => c.id ?? "")} onClose={() => setEditing(undefined)} />}
    </section>
  );
}

function about(c: Channel): string {
  const told = c.events?.length ? moments.filter(([id]) => c.events!.includes(id)).map(([, , words]) => words) : [];
  return [
    c.disabled ? "paused" : "",
    told.length > 0 && told.length < moments.length ? `when ${told.join(", or ")}` : "whatever happens",
    c.quiet ? `quiet from ${c.quiet.from} to ${c.quiet.to}${c.quiet.zone ? ` (${c.quiet.zone})` : ""}` : "",
    c.answers ? "its readers may answer" : "",
  ].filter(Boolean).join(" · ");
}

function One({ channel: c, onEdit }: { channel: Channel; onEdit: () => void }) {
  const change = useChange();
  const [busy, setBusy] = useState(false);
  const [said, setSaid] = useState("");
  const [failed, setFailed] = useState("");
  const name = safeName(c.id ?? "");
  const test = async () => {
    setBusy(true);
    setSaid("");
    setFailed("");
    try {
      await tryChannel(c.id ?? "");
      setSaid("It has taken the test.");
    } catch (cause) {
      setFailed(wrong(cause));
    }
    setBusy(false);
  };
  const remove = async () => {
    if (!window.confirm(`Remove ${name}? It is told nothing more, and its secret is forgotten.`)) return;
    await attempt("It was not removed", () => change((now) => ({ channels: now.channels.filter((o) => o.id !== c.id) })));
  };
  return (
    <li className="setting told" aria-label={name}>
      <span>
        <strong>{name}</strong>
        <span className="small">{c.kind === "ntfy" ? "ntfy" : "Webhook"} · <span className="mono wrap">{safeText(c.url)}</span></span>
        <span className="dim small">{safeText(sentence(about(c)))}</span>
        {said && <span role="status" className="small">{said}</span>}
        {failed && <span role="alert" className="form-error">{safeText(failed)}</span>}
      </span>
      <span className="row">
        <Button look="quiet" tiny disabled={busy || !!c.disabled} aria-label={`Test ${name}`} onClick={test}>{busy ? "Sending…" : "Test"}</Button>
        <Button look="quiet" tiny aria-label={`Edit ${name}`} onClick={onEdit}>Edit</Button>
        <Button look="quiet" tiny aria-label={`Remove ${name}`} onClick={remove}>Remove</Button>
      </span>
    </li>
  );
}

/** Where the links in messages lead. */
function Base({ address }: { address: string }) {
  const change = useChange();
  const [text, setText] = useState(address);
  const [failed, setFailed] = useState("");
  const save = async () => {
    setFailed("");
    try {
      await change(() => ({ base_url: text.trim() }));
    } catch (cause) {
      setFailed(wrong(cause));
    }
  };
  return (
    <form className="column form" aria-label="Where links lead" onSubmit={(e) => { e.preventDefault(); void save(); }}>
      <div className="setup-row">
        <label className="field grow"><span>Messages link to this address of the server (empty: to the first --origin)</span>
          <input className="input mono" value={text} maxLength={500} spellCheck={false} autoComplete="off" placeholder="https://terret.example.com" onChange={(e) => setText(e.target.value)} />
        </label>
        <button type="submit" className="button" disabled={text.trim() === address}>Save</button>
      </div>
      {failed && <p role="alert" className="form-error">{safeText(failed)}</p>}
    </form>
  );
}

const shown = 10;

const what: Record<Delivery["event"], string> = { needs: "Needs you", done: "A turn is over", failed: "A turn has failed", budget: "The money is spent", test: "A test" };

function Undelivered({ state }: { state: Notify }) {
  const lost = [...state.lost].reverse();
  return (
    <>
      {state.waiting.length > 0 && <Deliveries name="Still to be sent" list={state.waiting} then={(d) => (d.tries ? `tried ${plural(d.tries, "time")}, next at ${clock(d.due)}` : `to be sent at ${clock(d.due)}`)} />}
      {lost.length > 0 && <Deliveries name="Given up" list={lost} then={(d) => `tried ${plural(d.tries, "time")}`} />}
      {state.dropped > 0 && <p className="dim small">{plural(state.dropped, "message was", "messages were")} dropped, since too many waited.</p>}
    </>
  );
}

function Deliveries({ name, list, then }: { name: string; list: Delivery[]; then: (d: Delivery) => string }) {
  return (
    <>
      <h3>{name}</h3>
      <ul className="plain" aria-label={name}>
        {list.slice(0, shown).map((d) => (
          <li key={d.id} className="setting">
            <span>
              <span><strong>{safeName(d.channel)}</strong> · {d.session ? <Link to={`/s/${d.session}`}>{what[d.event]}</Link> : what[d.event]}</span>
              <span className="dim small">{since(d.at)} · {then(d)}{d.error ? `: ${safeText(d.error)}` : ""}</span>
            </span>
          </li>
        ))}
      </ul>
      {list.length > shown && <p className="dim small">And {list.length - shown} more.</p>}
    </>
  );
}
