// Adds a channel, or changes one. Its secret goes in, and never comes out.

import { useState } from "react";
import { safeText } from "../lib/safe";
import { say } from "../lib/toast";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { type Channel, keptSecret, type Moment, moments, useChange, wrong } from "./notifyApi";

const here = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** A choice with a word about what it means. */
function Choice({ name, more, on, set }: { name: string; more?: string; on: boolean; set: (on: boolean) => void }) {
  return (
    <label className="told-choice"><input type="checkbox" checked={on} onChange={(e) => set(e.target.checked)} />
      <span>{name}{more && <span className="dim small">{more}</span>}</span>
    </label>
  );
}

export function ChannelDialog({ channel: was, taken, onClose }: { channel: Channel | undefined; taken: string[]; onClose: () => void }) {
  const change = useChange();
  const [c, setC] = useState<Channel>(was ?? { id: "", kind: "ntfy", url: "" });
  const [secret, setSecret] = useState("");
  const [told, setTold] = useState<Moment[]>(was?.events?.length ? was.events : moments.map(([id]) => id));
  const [quiet, setQuiet] = useState(!!was?.quiet);
  const [hours, setHours] = useState(was?.quiet ?? { from: "22:00", to: "07:00", zone: here() });
  const [failed, setFailed] = useState("");
  const [busy, setBusy] = useState(false);
  const set = (part: Partial<Channel>) => setC({ ...c, ...part });
  const ntfy = c.kind === "ntfy";
  const id = c.id?.trim() ?? "";
  const moved = !!was?.secret && c.url !== was.url;
  const inUse = !was && taken.includes(id);
  const ready = id && !inUse && c.url.trim() && told.length > 0 && (ntfy || secret || (was && !moved));
  const save = async () => {
    const next: Channel = { id, kind: c.kind, url: c.url.trim() };
    if (told.length < moments.length) next.events = told;
    if (quiet) next.quiet = { from: hours.from, to: hours.to, ...(hours.zone ? { zone: hours.zone } : {}) };
    if (secret) next.secret = secret;
    else if (was?.secret && !moved) next.secret = keptSecret;
    if (c.private) next.private = true;
    if (c.disabled) next.disabled = true;
    if (ntfy && c.answers) next.answers = true;
    setBusy(true);
    setFailed("");
    try {
      await change((now) => ({ channels: was ? now.channels.map((o) => (o.id === id ? next : o)) : [...now.channels, next] }));
      say(was ? `${id} is changed` : `${id} is told what happens from now on`);
      onClose();
    } catch (cause) {
      setFailed(wrong(cause));
      setBusy(false);
    }
  };
  return (
    <Dialog title={was ? `Edit ${safeText(id)}` : "Add a channel"} description="Where messages go without a browser" onClose={onClose} foot={
      <>
        <Button look="quiet" onClick={onClose}>Cancel</Button>
        <button type="submit" form="notify-channel" className="button primary" disabled={busy || !ready}>{was ? "Save" : "Add"}</button>
      </>
    }>
      <form id="notify-channel" className="column form" autoComplete="off" onSubmit={(e) => { e.preventDefault(); void save(); }}>
        {!was && (
          <>
            <label className="field"><span>Kind</span>
              <select className="input" value={c.kind} onChange={(e) => set({ kind: e.target.value as Channel["kind"] })}>
                <option value="ntfy">ntfy: an app for phones and desktops</option>
                <option value="webhook">Webhook: JSON to a program of yours</option>
              </select>
            </label>
            <label className="field"><span>Name</span><input className="input" value={c.id} maxLength={64} spellCheck={false} placeholder={ntfy ? "phone" : "ci"} onChange={(e) => set({ id: e.target.value })} /></label>
            {inUse && <p role="alert" className="form-error">There already is a channel with this name.</p>}
          </>
        )}
        <label className="field"><span>Address</span><input className="input mono" value={c.url} maxLength={2000} spellCheck={false} placeholder={ntfy ? "https://ntfy.sh/a-topic-nobody-guesses" : "https://ci.example.com/terret"} onChange={(e) => set({ url: e.target.value })} /></label>
        <label className="field"><span>{ntfy ? "Access token (only if the topic needs one)" : "Secret, which signs the messages"}</span>
          <input className="input mono" type="password" autoComplete="off" spellCheck={false} data-1p-ignore="" data-lpignore="true" value={secret} maxLength={2000} placeholder={was?.secret && !moved ? "Kept; leave it empty to keep it" : ""} onChange={(e) => setSecret(e.target.value)} />
        </label>
        {moved && !secret && <p className="dim small" role="note">What was kept is not told to another address: write it again.</p>}
        <fieldset className="told-moments"><legend>Tell it when</legend>
          {moments.map(([m, name]) => <Choice key={m} name={name} on={told.includes(m)} set={(on) => setTold(moments.map(([o]) => o).filter((o) => (o === m ? on : told.includes(o))))} />)}
        </fieldset>
        <Choice name="Quiet hours" more="What is still true when they end is sent then." on={quiet} set={setQuiet} />
        {quiet && (
          <div className="setup-row">
            <label className="field"><span>From</span><input className="input" type="time" required value={hours.from} onChange={(e) => setHours({ ...hours, from: e.target.value })} /></label>
            <label className="field"><span>To</span><input className="input" type="time" required value={hours.to} onChange={(e) => setHours({ ...hours, to: e.target.value })} /></label>
            <label className="field grow"><span>Time zone (empty: the server’s)</span><input className="input" spellCheck={false} maxLength={64} value={hours.zone ?? ""} onChange={(e) => setHours({ ...hours, zone: e.target.value.trim() })} /></label>
          </div>
        )}
        {ntfy && <Choice name="Its readers may answer" more="Messages say what is asked, and can allow or deny it. Whoever reads the topic can press these buttons." on={!!c.answers} set={(on) => set({ answers: on })} />}
        <Choice name="The address is inside" more="On this machine or in a private network; it may be http." on={!!c.private} set={(on) => set({ private: on })} />
        {was && <Choice name="Paused" more="It is told nothing, also not later." on={!!c.disabled} set={(on) => set({ disabled: on })} />}
        {failed && <p role="alert" className="form-error">{safeText(failed)}</p>}
      </form>
    </Dialog>
  );
}
