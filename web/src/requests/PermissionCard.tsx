import { lazy, useId, useState } from "react";
import type { Request } from "../api/types";
import { Output } from "../conversation/Output";
import { baseName, relative } from "../lib/format";
import { safeName, safeText } from "../lib/safe";
import { describe, pathsOf } from "../model/summary";
import { Button } from "../ui/Button";
import { Lazy } from "../ui/Lazy";
import { useDecide } from "./useDecide";

const Diff = lazy(() => import("../conversation/Diff"));

type Mode = "choose" | "session" | "always" | "edit" | "deny";

/** What, where and why, and every way to answer. The keys are in requestKeys.ts. */
export function PermissionCard({ request, cwd }: { request: Request; cwd: string }) {
  const { data } = request;
  const { sending, answer } = useDecide(request);
  const [mode, setMode] = useState<Mode>("choose");
  const suggested = data.suggestions?.[0];
  const description = describe(data.input);
  return (
    <>
      <What request={request} cwd={cwd} />
      <p className="why">
        {description && <span className="what">{safeText(description)}. </span>}
        <span title={safeText(data.reason ?? "")}>{!data.reason || /^The policy |^No rule /.test(data.reason) ? "No rule covers this" : safeText(data.reason)}</span>
        {cwd && <span className="faint"> · {safeName(baseName(cwd))}</span>}
      </p>
      {mode === "choose" && (
        <div className="answers apart">
          <div className="answers">
          <Button look="primary" data-key="Enter" disabled={sending} onClick={() => answer({ behavior: "allow", scope: "once" })}>
            Allow once <kbd>⏎</kbd>
          </Button>
          {request.gate === "permission" && (
            <>
              <Button data-key="s" disabled={sending} onClick={() => (suggested ? answer({ behavior: "allow", scope: "session", rule: suggested }) : setMode("session"))}>
                For session{!suggested && "…"} <kbd>s</kbd>
              </Button>
              <Button data-key="a" disabled={sending} onClick={() => setMode("always")}>
                Always… <kbd>a</kbd>
              </Button>
              <Button data-key="e" disabled={sending} onClick={() => setMode("edit")}>
                Edit… <kbd>e</kbd>
              </Button>
            </>
          )}
          </div>
          <div className="answers">
          <Button look="danger" data-key="d" disabled={sending} onClick={() => setMode("deny")}>
            Deny… <kbd>d</kbd>
          </Button>
          <Button look="danger" data-key="D" disabled={sending} onClick={() => answer({ behavior: "deny", interrupt: true })}>
            Deny and stop <kbd>⇧D</kbd>
          </Button>
          </div>
        </div>
      )}
      {(mode === "always" || mode === "session") && (
        <MakeRule
          scope={mode}
          suggestions={data.suggestions ?? []}
          first={suggested || exactly(request)}
          onBack={() => setMode("choose")}
          onAllow={(rule) => answer({ behavior: "allow", scope: mode, rule })}
        />
      )}
      {mode === "edit" && (
        <Edit input={data.input} onBack={() => setMode("choose")} onAllow={(input) => answer({ behavior: "allow", scope: "once", updated_input: input })} />
      )}
      {mode === "deny" && (
        <Deny onBack={() => setMode("choose")} onDeny={(reason) => answer({ behavior: "deny", ...(reason ? { reason } : {}) })} />
      )}
    </>
  );
}

function What({ request, cwd }: { request: Request; cwd: string }) {
  const { data } = request;
  if (data.diff) {
    return (
      <Lazy lines={4}>
        <Diff text={data.diff} cwd={cwd} paths={pathsOf(data.input)} />
      </Lazy>
    );
  }
  const input = data.input as Record<string, unknown> | null | undefined;
  if (input && typeof input === "object") {
    if (typeof input.command === "string") return <Output text={input.command} />;
    const path = input.file_path ?? input.path;
    if (typeof path === "string" && Object.keys(input).length === 1) return <Output text={relative(path, cwd)} />;
  }
  return <Output text={input === undefined ? (data.title ?? "") : JSON.stringify(input, null, 2)} />;
}

/** A rule for exactly this, where none is suggested. */
function exactly({ data }: Request): string {
  const command = (data.input as { command?: unknown } | null)?.command;
  return typeof command === "string" ? `${data.tool}(${command})` : (data.tool ?? "");
}

function MakeRule({ scope, suggestions, first, onBack, onAllow }: {
  scope: "always" | "session"; suggestions: string[]; first: string; onBack: () => void; onAllow: (rule: string) => void;
}) {
  const [rule, setRule] = useState(first);
  const id = useId();
  return (
    <form className="answer-form" onSubmit={(e) => { e.preventDefault(); onAllow(rule.trim()); }}>
      <label htmlFor={id}>This rule will be made and holds in {scope === "always" ? "every session" : "this session"}</label>
      <input id={id} className="input mono" value={rule} onChange={(e) => setRule(e.target.value)} autoFocus list={`${id}-list`} />
      <datalist id={`${id}-list`}>{suggestions.map((s) => <option key={s} value={s} />)}</datalist>
      <FormFoot onBack={onBack} disabled={!rule.trim()} label="Make the rule and allow" />
    </form>
  );
}

function Edit({ input, onBack, onAllow }: { input: unknown; onBack: () => void; onAllow: (input: unknown) => void }) {
  const command = (input as { command?: unknown } | null)?.command;
  const simple = typeof command === "string";
  const [text, setText] = useState(simple ? command : JSON.stringify(input, null, 2));
  const [error, setError] = useState("");
  const id = useId();
  const send = () => {
    if (simple) return onAllow({ ...(input as object), command: text });
    try {
      onAllow(JSON.parse(text));
    } catch (cause) {
      setError(cause instanceof Error ? cause.message : String(cause));
    }
  };
  return (
    <form className="answer-form" onSubmit={(e) => { e.preventDefault(); send(); }}>
      <label htmlFor={id}>{simple ? "The command that will run instead" : "The input that the tool will get instead"}</label>
      <textarea id={id} className="input mono" rows={Math.min(14, text.split("\n").length + 1)} value={text} autoFocus spellCheck={false}
        onChange={(e) => { setText(e.target.value); setError(""); }}
        onKeyDown={(e) => { if (e.key === "Enter" && (e.metaKey || e.ctrlKey)) { e.preventDefault(); send(); } }} />
      {error && <p className="form-error" role="alert">This is not valid JSON: {error}</p>}
      <FormFoot onBack={onBack} label="Allow this instead" />
    </form>
  );
}

function Deny({ onBack, onDeny }: { onBack: () => void; onDeny: (reason: string) => void }) {
  const [reason, setReason] = useState("");
  const id = useId();
  return (
    <form className="answer-form" onSubmit={(e) => { e.preventDefault(); onDeny(reason.trim()); }}>
      <label htmlFor={id}>Tell the agent why, or what to do instead (optional)</label>
      <input id={id} className="input" value={reason} onChange={(e) => setReason(e.target.value)} autoFocus />
      <FormFoot onBack={onBack} label="Deny" danger />
    </form>
  );
}

export function FormFoot({ onBack, label, disabled, danger }: { onBack?: () => void; label: string; disabled?: boolean; danger?: boolean }) {
  return (
    <div className="answers">
      <button type="submit" className={`button ${danger ? "danger" : "primary"}`} disabled={disabled}>{label}</button>
      {onBack && <Button look="quiet" data-key="Escape" onClick={(e) => { e.currentTarget.closest<HTMLElement>("[data-request]")?.focus(); onBack(); }}>Back</Button>}
    </div>
  );
}
