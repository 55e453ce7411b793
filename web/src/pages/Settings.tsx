// What this browser keeps, and who else is signed in.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { call, query } from "../api/http";
import { keys } from "../api/keys";
import { useAgents, useMe, useOwner } from "../api/queries";
import type { List, Token } from "../api/types";
import { ago } from "../lib/format";
import { safeName } from "../lib/safe";
import { applyTheme, type Theme, useSettings } from "../lib/state";
import { attempt } from "../lib/toast";
import { agentName, choices, policies } from "../lib/words";
import { turnOnNotifications } from "../shell/notifications";
import { Button } from "../ui/Button";
import { Skeleton } from "../ui/Lazy";

const themes: [Theme, string][] = [["system", "System"], ["light", "Light"], ["dark", "Dark"], ["contrast", "High contrast"]];
const editors: [string, string][] = [["vscode://file{path}", "VS Code"], ["cursor://file{path}", "Cursor"], ["zed://file{path}", "Zed"]];

const used = (when: string): string => (when === "now" ? "in use now" : `used ${when} ago`);

export default function Settings() {
  return (
    <div className="page-inner settings">
      <div className="column">
        <h1>Settings</h1>
        <p className="dim">These are kept in this browser, except for devices and tokens.</p>
      </div>
      <Look />
      <NewSessions />
      <Devices />
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
        <input type="checkbox" checked={notify} onChange={(e) => (e.target.checked ? void turnOnNotifications() : useSettings.setState({ notify: false }))} />
      </Field>
    </section>
  );
}

function NewSessions() {
  const { lastAgent, lastPolicy } = useSettings();
  const agents = (useAgents().data?.items ?? []).filter((a) => a.found);
  return (
    <section className="column" aria-label="New sessions">
      <h2>New sessions</h2>
      <Field name="Agent">
        <select className="input" value={agents.some((a) => a.agent === lastAgent) ? lastAgent : ""} onChange={(e) => useSettings.setState({ lastAgent: e.target.value })}>
          <option value="">Automatic</option>
          {agents.map((a) => <option key={a.agent} value={a.agent}>{safeName(agentName(a.agent))}</option>)}
        </select>
      </Field>
      <Field name="Mode" what={policies.find((p) => p.id === lastPolicy)?.what}>
        <select className="input" value={lastPolicy} onChange={(e) => useSettings.setState({ lastPolicy: e.target.value })}>
          {choices(lastPolicy).map((p) => <option key={p.id} value={p.id}>{p.name}</option>)}
        </select>
      </Field>
    </section>
  );
}

const may: Record<string, string> = { view: "look", prompt: "look and prompt", decide: "look, prompt and answer", admin: "do everything" };

/** Browsers that are signed in and tokens of programs. Only the owner sees them. */
function Devices() {
  const owner = useOwner();
  const me = useMe();
  const client = useQueryClient();
  const { data, error, isPending } = useQuery({ queryKey: keys.tokens, enabled: owner, queryFn: ({ signal }) => call<List<Token>>("/v1/tokens", { signal }) });
  if (!owner) return null;
  const revoke = async (name: string) => {
    if (!window.confirm(`Sign out ${safeName(name)}? Whoever uses it has to sign in again.`)) return;
    await attempt("It was not signed out", () => call<void>(`/v1/tokens${query({ name })}`, { method: "DELETE" }));
    await client.invalidateQueries({ queryKey: keys.tokens });
  };
  return (
    <section className="column" aria-label="Devices and tokens">
      <h2>Devices and tokens</h2>
      {isPending && <Skeleton lines={3} />}
      {error && <p role="alert">{error.message}</p>}
      {data?.items.length === 0 && <p className="dim">No other device is signed in. <span className="mono">terret token</span> makes a token for a program.</p>}
      <ul className="plain">
        {data?.items.map((t) => (
          <li key={t.name} className="setting">
            <span><strong>{safeName(t.name)}{t.name === me ? " (this browser)" : ""}</strong>
              <span className="dim small">{t.device ? "Device" : "Token"} · may {may[t.scope] ?? t.scope}{t.session ? " in one session" : ""} · {t.last_used_at ? used(ago(t.last_used_at)) : "never used"}</span></span>
            <Button look="quiet" tiny aria-label={`Sign out ${safeName(t.name)}`} onClick={() => revoke(t.name)}>Sign out</Button>
          </li>
        ))}
      </ul>
    </section>
  );
}
