// What this browser keeps, and who else is signed in.

import type { ReactNode } from "react";
import { useNames } from "../api/names";
import { useInstalled, useOwner } from "../api/queries";
import { install, useOffer } from "../lib/install";
import { safeName } from "../lib/safe";
import { applyTheme, type Theme, useSettings } from "../lib/state";
import { choiceName, choices, fullAuto, policies } from "../lib/words";
import { turnOffNotifications, turnOnNotifications } from "../shell/notifications";
import { Button } from "../ui/Button";
import { Link } from "../ui/Link";
import { Devices } from "./SettingsDevices";
import { Elsewhere } from "./SettingsNotify";
import { Push } from "./SettingsPush";
import { Trusted } from "./SettingsTrust";

const themes: [Theme, string][] = [["system", "System"], ["light", "Light"], ["dark", "Dark"], ["contrast", "High contrast"]];
const editors: [string, string][] = [["vscode://file{path}", "VS Code"], ["cursor://file{path}", "Cursor"], ["zed://file{path}", "Zed"]];

const waits: [number, string][] = [[0, "No limit"], [3600, "One hour"], [8 * 3600, "Eight hours"], [24 * 3600, "A day"]];

export default function Settings() {
  const owner = useOwner();
  return (
    <div className="page-inner settings">
      <div className="column">
        <h1>Settings</h1>
        <p className="dim">{owner ? "Who is told elsewhere, trusted folders, devices and tokens belong to the server. Everything else is kept in this browser." : "These are kept in this browser."}</p>
        {owner && <p>Agents, keys, models, sign-ins and the configuration: <Link to="/setup">set up the server</Link></p>}
      </div>
      <Look />
      <NewSessions />
      <Limits />
      {owner && <Elsewhere />}
      {owner && <Trusted />}
      {owner && <Devices />}
    </div>
  );
}

function Field({ name, what, children }: { name: string; what?: string | undefined; children: ReactNode }) {
  return (
    <label className="setting">
      <span><strong>{name}</strong>{what && <span className="dim small">{what}</span>}</span>
      {children}
    </label>
  );
}

function Look() {
  const { theme, editor, notify } = useSettings();
  const { offer } = useOffer();
  const known = editors.some(([address]) => address === editor);
  return (
    <section className="column" aria-label="This browser">
      <h2>This browser</h2>
      <Field name="Theme">
        <select className="input" value={theme} onChange={(e) => applyTheme(e.target.value as Theme)}>
          {themes.map(([id, name]) => <option key={id} value={id}>{name}</option>)}
        </select>
      </Field>
      <Field name="Editor" what="Opens the files that agents change.">
        <select className="input" value={editor} onChange={(e) => useSettings.setState({ editor: e.target.value })}>
          {editors.map(([address, name]) => <option key={address} value={address}>{name}</option>)}
          {!known && <option value={editor}>{editor}</option>}
        </select>
      </Field>
      <Field name="Notifications" what="When something needs you or is done, and you look elsewhere.">
        <input type="checkbox" checked={notify} onChange={(e) => (e.target.checked ? void turnOnNotifications() : void turnOffNotifications())} />
      </Field>
      <Push />
      {offer && (
        <div className="setting">
          <span><strong>App</strong><span className="dim small">Terret in a window of its own, among your other programs.</span></span>
          <Button tiny onClick={() => void install()}>Install</Button>
        </div>
      )}
    </section>
  );
}

function NewSessions() {
  const { agentName } = useNames();
  const { lastAgent, lastPolicy } = useSettings();
  const { agents, looking } = useInstalled();
  return (
    <section className="column" aria-label="New sessions">
      <h2>New sessions</h2>
      <Field name="Agent">
        <select className="input" value={looking || agents.some((a) => a.agent === lastAgent) ? lastAgent : ""} onChange={(e) => useSettings.setState({ lastAgent: e.target.value })}>
          <option value="">Automatic</option>
          {looking && lastAgent && !agents.some((a) => a.agent === lastAgent) && <option value={lastAgent}>{safeName(agentName(lastAgent))}</option>}
          {agents.map((a) => <option key={a.agent} value={a.agent}>{safeName(choiceName(a))}</option>)}
        </select>
      </Field>
      <Field name="Mode" what={policies.find((p) => p.id === lastPolicy)?.what}>
        <select className="input" value={lastPolicy} onChange={(e) => useSettings.setState({ lastPolicy: e.target.value })}>
          {choices(lastPolicy).filter((p) => p.id !== fullAuto).map((p) => <option key={p.id} value={p.id}>{p.name}</option>)}
        </select>
      </Field>
    </section>
  );
}

/** A whole number from a field; what is none is no limit. */
const number = (text: string): number => Math.max(0, Math.floor(Number(text)) || 0);

function Limits() {
  const { limitCost, limitSteps, limitWait } = useSettings();
  return (
    <section className="column" aria-label="Limits of new sessions">
      <h2>Limits of new sessions</h2>
      <Field name="Cost" what="In dollars. A session that has cost this much does nothing more.">
        <input className="input" type="number" min={0} step={1} inputMode="numeric" placeholder="No limit" value={limitCost || ""} onChange={(e) => useSettings.setState({ limitCost: number(e.target.value) })} />
      </Field>
      <Field name="Steps" what="How often the model may be asked in one turn.">
        <input className="input" type="number" min={0} step={1} inputMode="numeric" placeholder="No limit" value={limitSteps || ""} onChange={(e) => useSettings.setState({ limitSteps: number(e.target.value) })} />
      </Field>
      <Field name="Waiting" what="How long a question or a request for permission waits for you.">
        <select className="input" value={limitWait} onChange={(e) => useSettings.setState({ limitWait: Number(e.target.value) })}>
          {waits.map(([seconds, name]) => <option key={seconds} value={seconds}>{name}</option>)}
        </select>
      </Field>
    </section>
  );
}
