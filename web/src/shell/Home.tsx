import { Plus } from "lucide-react";
import { useAgents, useRoots, useSessions } from "../api/queries";
import { ago, baseName } from "../lib/format";
import { sessionPath } from "../lib/router";
import { safeName } from "../lib/safe";
import { useSettings, useView } from "../lib/state";
import { dotOf } from "../model/lists";
import { Button } from "../ui/Button";
import { Hint } from "../ui/Hint";
import { Link } from "../ui/Link";
import { startSession } from "./startSession";
import { examples } from "./Starters";

/** Where one begins: the newest sessions, or examples that work at once. */
export function Home() {
  const sessions = useSessions();
  const agents = useAgents().data?.items ?? [];
  const roots = useRoots().data?.items ?? [];
  const last = useSettings((s) => s.lastFolder);
  const cwd = roots.some((r) => last === r.path || last.startsWith(`${r.path}/`)) ? last : (roots[0]?.path ?? "");
  const list = sessions.data?.items ?? [];
  const missing = agents.filter((a) => !a.found && a.fix);
  return (
    <main className="page">
      <div className="page-inner home">
        <div className="row">
          <h1 className="grow">{list.length > 0 ? "Sessions" : "Start a session"}</h1>
          <Button look="primary" onClick={() => useView.setState({ overlay: "new-session" })}><Plus size={14} /> New session <kbd>n</kbd></Button>
        </div>
        {list.length > 0 ? (
          <ul className="plain">
            {list.slice(0, 12).map((s) => (
              <li key={s.id}>
                <Link to={sessionPath(s.id)} className="session">
                  <span className={`dot ${dotOf(s)}`} aria-hidden="true" />
                  <span className="cut">{safeName(s.title) || "New session"}</span>
                  <span className="faint small">{ago(s.updated_at)}</span>
                  <span className="under cut">{baseName(s.cwd)} · {s.agent}</span>
                </Link>
              </li>
            ))}
          </ul>
        ) : (
          sessions.isSuccess && (
            <>
              <p className="dim">One of these starts a session in <span className="mono">{safeName(cwd)}</span>:</p>
              <ul className="starter-list">
                {examples.map((e) => (
                  <li key={e.text}>
                    <button type="button" className="starter" disabled={!cwd} onClick={() => startSession({ cwd }, e.text)}>
                      <span className="mono">{e.text}</span>
                      <span className="faint small">{e.why}</span>
                    </button>
                  </li>
                ))}
              </ul>
            </>
          )
        )}
        {list.length === 0 && missing.length > 0 && (
          <section className="column">
            <h2>More agents</h2>
            <ul className="plain small dim">{missing.map((a) => <li key={a.agent}><Hint text={a.fix!} /></li>)}</ul>
          </section>
        )}
      </div>
    </main>
  );
}
