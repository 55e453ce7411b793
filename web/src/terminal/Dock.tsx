// The place of terminals, below the conversation.

import { useQueryClient } from "@tanstack/react-query";
import { ChevronDown, Eye, EyeOff, Plus, TextQuote, X } from "lucide-react";
import { lazy, useCallback, useEffect, useState } from "react";
import { useOwner } from "../api/queries";
import type { Session, Terminal } from "../api/types";
import { safeName } from "../lib/safe";
import { appendDraft, useSettings, useView } from "../lib/state";
import { attempt } from "../lib/toast";
import { Button } from "../ui/Button";
import { Lazy } from "../ui/Lazy";
import { changeTerminal, closeTerminal, look, openTerminal, useTerminals } from "./api";
import { quoted } from "./quote";

const Screen = lazy(() => import("./Screen"));

/** The last terminal that was shown of each session. */
const shownOf = new Map<string, string>();

/** Opens or closes the place of a session's terminals. */
export function toggleTerminal(session: string): void {
  const open = useSettings.getState().terminalOf !== session;
  useSettings.setState({ terminalOf: open ? session : "" });
  useView.setState({ terminalAsked: open });
}

const nameOf = (t: Terminal, n: number) => `${n + 1} ${safeName((!t.ended && t.program) || t.shell)}`;

export function TerminalDock({ session }: { session: Session }) {
  const open = useSettings((s) => s.terminalOf === session.id);
  const list = useTerminals(session.id);
  const busy = list?.find((t) => t.busy);
  if (open) return <Pane session={session} list={list} />;
  if (!busy) return null;
  return (
    <button type="button" className="terminal-bar small" onClick={() => toggleTerminal(session.id)}>
      <span className="dot busy" aria-hidden="true" /> <span className="cut">{safeName(busy.program ?? "") || "Something"} runs in the terminal</span> <span className="faint">Open</span>
    </button>
  );
}

function Pane({ session, list }: { session: Session; list: Terminal[] | undefined }) {
  const client = useQueryClient();
  const admin = useOwner();
  const [chosen, setChosen] = useState(shownOf.get(session.id) ?? "");
  const [selected, setSelected] = useState("");
  const [starting, setStarting] = useState(false);
  const shown = list?.find((t) => t.id === chosen) ?? list?.at(-1);

  const choose = (id: string) => {
    shownOf.set(session.id, id);
    setChosen(id);
    setSelected("");
  };
  const start = useCallback(async () => {
    setStarting(true);
    const made = await attempt("No terminal was opened", () => openTerminal(session.id));
    await look(client, session.id);
    setStarting(false);
    if (made) {
      shownOf.set(session.id, made.id);
      setChosen(made.id);
    }
  }, [client, session.id]);
  const close = async (t: Terminal) => {
    await attempt("The terminal was not closed", () => closeTerminal(t));
    await look(client, session.id);
    if (list?.length === 1) useSettings.setState({ terminalOf: "" });
  };

  // A page that was just loaded starts nothing: nobody has asked.
  const asked = useView((s) => s.terminalAsked);
  useEffect(() => {
    if (!asked || !list || !admin) return;
    useView.setState({ terminalAsked: false });
    if (list.length === 0) void start();
  }, [list, asked, admin, start]);

  return (
    <section className="terminal-dock" aria-label="Terminal">
      <div className="terminal-tabs">
        <div role="tablist" aria-label="Terminals" className="row scroll-x">
          {list?.map((t, n) => (
            <button key={t.id} type="button" role="tab" className="tab" aria-selected={t === shown} onClick={() => choose(t.id)}>
              {t.busy && <span className="dot busy" aria-hidden="true" />}{nameOf(t, n)}
            </button>
          ))}
        </div>
        {admin && <Button look="quiet" tiny label="New terminal" disabled={starting} onClick={start}><Plus size={14} /></Button>}
        <span className="grow" />
        {selected.trim() && <Button tiny onClick={() => { appendDraft(session.id, quoted(selected)); setSelected(""); }}><TextQuote size={14} /> Quote to the agent</Button>}
        {!admin && shown && <span className="tag">Read-only</span>}
        {admin && shown && (
          <Button look="quiet" tiny aria-pressed={shown.shared} label={shown.shared ? "Hide from others: who may only view can see it" : "Let others look: who may only view cannot see it"}
            onClick={async () => { await attempt("That was not changed", () => changeTerminal(shown, { shared: !shown.shared })); await look(client, session.id); }}>
            {shown.shared ? <Eye size={14} /> : <EyeOff size={14} />}
          </Button>
        )}
        {admin && shown && <Button look="quiet" tiny label="End this terminal" onClick={() => close(shown)}><X size={14} /></Button>}
        <Button look="quiet" tiny label="Hide the terminal (Ctrl-`)" onClick={() => toggleTerminal(session.id)}><ChevronDown size={14} /></Button>
      </div>
      {shown ? (
        <Lazy key={shown.id} lines={4}>
          <Screen
            terminal={shown} types={admin} onSelect={setSelected}
            onState={(t) => {
              if (t.ended && t.exit_code === 0 && admin) void close(t);
              else void look(client, session.id);
            }}
          />
        </Lazy>
      ) : (
        <p className="empty">{starting || !list ? "Opening a terminal…" : admin ? <Button onClick={start}>Open a terminal</Button> : "Nobody shares a terminal of this session."}</p>
      )}
      {shown?.ended && <p className="terminal-ended small dim" role="status">The shell has ended{shown.signal ? ` by ${safeName(shown.signal)}` : ` with exit code ${shown.exit_code ?? "unknown"}`}.</p>}
    </section>
  );
}
