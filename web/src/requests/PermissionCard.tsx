import { ChevronDown } from "lucide-react";
import { lazy, type ReactNode, useId, useState } from "react";
import { explain } from "../api/actions";
import type { Request } from "../api/types";
import { Output } from "../conversation/Output";
import { baseName, relative } from "../lib/format";
import { safeName, safeText } from "../lib/safe";
import { attempt } from "../lib/toast";
import { commandField, commandOf, describe, pathsOf } from "../model/summary";
import { Button } from "../ui/Button";
import { Menu } from "../ui/Menu";
import { Lazy } from "../ui/Lazy";
import { useDecide } from "./useDecide";

const Diff = lazy(() => import("../conversation/Diff"));

type Mode = "choose" | "session" | "always" | "edit" | "deny";

/** What, where and why, and every way to answer. Hidden buttons take the keys of what the menu holds. */
export function PermissionCard({ request, cwd }: { request: Request; cwd: string }) {
  const { data } = request;
  const { sending, answer } = useDecide(request);
  const [mode, setMode] = useState<Mode>("choose");
  const rules = data.suggestions ?? [];
  const adds = useId();
  const description = describe(data.input);
  const [reasons, setReasons] = useState<string[]>();
  const ask = async () => setReasons((await attempt("The reasons are not known", () => explain({ session: request.session, tool: data.tool, class: data.class, input: data.input })))?.reasons);
  const stop = () => answer({ behavior: "deny", interrupt: true });
  return (
    <>
      <What request={request} cwd={cwd} />
      <p className="why">
        {description && <span className="what">{safeText(description)}. </span>}
        <span title={safeText(data.reason ?? "")}>{!data.reason || /^The policy |^No rule /.test(data.reason) ? "No rule covers this" : safeText(data.reason)}</span>
        {cwd && <span className="faint"> · {safeName(baseName(cwd))}</span>}
        {!reasons && <> · <button type="button" className="link" onClick={ask}>Why?</button></>}
      </p>
      {reasons && <ul className="why plain" aria-label="Why">{reasons.map((why) => <li key={why}>{safeText(why)}</li>)}</ul>}
      {mode === "choose" && request.gate === "permission" && rules.length > 0 && (
        <p className="why" id={adds}>Allow for session adds <span className="mono">{safeText(rules.join(", "))}</span></p>
      )}
      {mode === "choose" && (
        <div className="answers apart">
          <div className="answers">
            <Button look="primary" data-key="Enter" disabled={sending} onClick={() => answer({ behavior: "allow", scope: "once" })}>
              Allow <kbd>⏎</kbd>
            </Button>
            {request.gate === "permission" && (
              <>
                {/* Without a rule it adds all that are suggested: only together they allow the same again. */}
                <Button data-key="s" aria-describedby={rules.length > 0 ? adds : undefined} disabled={sending} onClick={() => (rules.length > 0 ? answer({ behavior: "allow", scope: "session" }) : setMode("session"))}>
                  Allow for session{rules.length === 0 && "…"} <kbd>s</kbd>
                </Button>
                <Menu
                  trigger={<Button label="More answers" disabled={sending}><ChevronDown size={14} /></Button>}
                  entries={[
                    { label: "Always allow…", keys: "a", onSelect: () => setMode("always") },
                    { label: "Edit, then allow…", keys: "e", onSelect: () => setMode("edit") },
                    null,
                    { label: "Deny and stop", keys: "⇧D", danger: true, onSelect: stop },
                  ]}
                />
                <span hidden>
                  <button type="button" data-key="a" onClick={() => setMode("always")}>Always allow</button>
                  <button type="button" data-key="e" onClick={() => setMode("edit")}>Edit</button>
                </span>
              </>
            )}
          </div>
          <div className="answers">
            <Button look="danger" data-key="d" disabled={sending} onClick={() => setMode("deny")}>
              Deny… <kbd>d</kbd>
            </Button>
            <button type="button" hidden data-key="D" onClick={stop}>Deny and stop</button>
          </div>
        </div>
      )}
      {(mode === "always" || mode === "session") && (
        <MakeRule
          scope={mode}
          suggestions={rules}
          first={rules[0] || exactly(request)}
          onBack={() => setMode("choose")}
          onAllow={(rule) => answer({ behavior: "allow", scope: mode, ...(rule ? { rule } : {}) })}
        />
      )}
      {mode === "edit" && (
        <Edit input={data.input} onBack={() => setMode("choose")} onAllow={(input) => answer({ behavior: "allow", scope: "once", updated_input: input })} />
      )}
      {mode === "deny" && (
        <Deny onStop={stop} onBack={() => setMode("choose")} onDeny={(reason) => answer({ behavior: "deny", ...(reason ? { reason } : {}) })} />
      )}
    </>
  );
}

export function What({ request, cwd }: { request: Request; cwd: string }) {
  const { data } = request;
  if (data.diff) {
    return (
      <Lazy lines={4}>
        <Diff text={data.diff} cwd={cwd} paths={pathsOf(data.input)} bare />
      </Lazy>
    );
  }
  const input = data.input as Record<string, unknown> | null | undefined;
  if (input && typeof input === "object") {
    const command = commandOf(input);
    if (command) return <Output text={command} />;
    const path = input.file_path ?? input.path;
    if (typeof path === "string" && Object.keys(input).length === 1) return <Output text={relative(path, cwd)} />;
  }
  return <Output text={input === undefined ? (data.title ?? "") : JSON.stringify(input, null, 2)} />;
}

/** A rule for exactly this, where none is suggested. */
function exactly({ data }: Request): string {
  const command = commandOf(data.input);
  return command ? `${data.tool}(${command})` : (data.tool ?? "");
}

function MakeRule({ scope, suggestions, first, onBack, onAllow }: {
  scope: "always" | "session"; suggestions: string[]; first: string; onBack: () => void; onAllow: (rule?: string) => void;
}) {
  const [rule, setRule] = useState(first);
  const [all, setAll] = useState(suggestions.length > 1);
  const id = useId();
  const title = scope === "always" ? "Always allow, in every project" : "Allow in this session";
  if (all) {
    return (
      <form className="answer-form" onSubmit={(e) => { e.preventDefault(); onAllow(); }}>
        <span className="small dim" id={id}>{title}</span>
        <ul className="plain mono small" aria-labelledby={id}>{suggestions.map((s) => <li key={s}>{safeText(s)}</li>)}</ul>
        <FormFoot onBack={onBack} label={`Save ${suggestions.length} rules and allow`} autoFocus><Button onClick={() => setAll(false)}>Write one rule instead</Button></FormFoot>
      </form>
    );
  }
  return (
    <form className="answer-form" onSubmit={(e) => { e.preventDefault(); onAllow(rule.trim()); }}>
      <label htmlFor={id}>{title}</label>
      <input id={id} className="input mono" value={rule} onChange={(e) => setRule(e.target.value)} autoFocus list={`${id}-list`} />
      <datalist id={`${id}-list`}>{suggestions.map((s) => <option key={s} value={s} />)}</datalist>
      <FormFoot onBack={onBack} disabled={!rule.trim()} label="Save rule and allow" />
    </form>
  );
}

/** The part of an input that people edit: a command, or the text that is written. */
const editable = ["command", "cmd", "content", "new_string", "new_str", "new_text", "new", "text"];

export function editableField(input: unknown): string | undefined {
  const fields = input && typeof input === "object" ? (input as Record<string, unknown>) : {};
  return editable.find((name) => typeof fields[name] === "string");
}

function Edit({ input, onBack, onAllow }: { input: unknown; onBack: () => void; onAllow: (input: unknown) => void }) {
  const field = editableField(input);
  const fields = (input ?? {}) as Record<string, unknown>;
  const [text, setText] = useState(field ? String(fields[field]) : JSON.stringify(input, null, 2));
  const [error, setError] = useState("");
  const id = useId();
  const send = () => {
    if (field) return onAllow({ ...fields, [field]: text });
    try {
      onAllow(JSON.parse(text));
    } catch (cause) {
      setError(cause instanceof Error ? cause.message : String(cause));
    }
  };
  const file = pathsOf(input)[0];
  return (
    <form className="answer-form" onSubmit={(e) => { e.preventDefault(); send(); }}>
      <label htmlFor={id}>{field && field === commandField(input) ? "The command that will run instead" : field ? `What will be written${file ? ` to ${safeName(baseName(file))}` : ""} instead` : "The input that the tool will get instead"}</label>
      <textarea id={id} className="input mono" rows={Math.min(14, text.split("\n").length + 1)} value={text} autoFocus spellCheck={false}
        onChange={(e) => { setText(e.target.value); setError(""); }}
        onKeyDown={(e) => { if (e.key === "Enter" && (e.metaKey || e.ctrlKey)) { e.preventDefault(); send(); } }} />
      {error && <p className="form-error" role="alert">This is not valid JSON: {error}</p>}
      <FormFoot onBack={onBack} label="Allow this instead" />
    </form>
  );
}

function Deny({ onBack, onStop, onDeny }: { onBack: () => void; onStop: () => void; onDeny: (reason: string) => void }) {
  const [reason, setReason] = useState("");
  const id = useId();
  return (
    <form className="answer-form" onSubmit={(e) => { e.preventDefault(); onDeny(reason.trim()); }}>
      <label htmlFor={id}>Tell the agent why, or what to do instead (optional)</label>
      <input id={id} className="input" value={reason} onChange={(e) => setReason(e.target.value)} autoFocus />
      <FormFoot onBack={onBack} label="Deny" danger><Button look="danger" onClick={onStop}>Deny and stop</Button></FormFoot>
    </form>
  );
}

export function FormFoot({ onBack, label, disabled, danger, autoFocus, children }: { onBack?: () => void; label: string; disabled?: boolean; danger?: boolean; autoFocus?: boolean; children?: ReactNode }) {
  return (
    <div className="answers">
      <button type="submit" className={`button ${danger ? "danger" : "primary"}`} disabled={disabled} autoFocus={autoFocus}>{label}</button>
      {children}
      {onBack && <Button look="quiet" data-key="Escape" onClick={(e) => { e.currentTarget.closest<HTMLElement>("[data-request]")?.focus(); onBack(); }}>Back</Button>}
    </div>
  );
}
