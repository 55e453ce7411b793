import { prompt } from "../api/actions";
import { useNames } from "../api/names";
import { useKnownAgents } from "../api/queries";
import { attempt } from "../lib/toast";
import { isDemo } from "../lib/words";

export const examples = [
  { text: "list files", why: "look around" },
  { text: "create hello.txt containing Hello from Terret, then replace Hello with Good morning in hello.txt", why: "edit, see the diff, undo it" },
  { text: "run: ls -la", why: "be asked before a command runs" },
];

/** An empty session: what can be tried. */
export function Starters({ agent, model, session }: { agent: string; model: string; session: string }) {
  const { agentName } = useNames();
  const probe = useKnownAgents().find((a) => a.agent === agent);
  const demo = agent === "native" && isDemo(model || probe?.model);
  return (
    <div className="scroll starters">
      <div className="measure">
        <h2>What should {demo ? "the agent" : agentName(agent, model)} do?</h2>
        <p className="dim">{demo ? "With the built-in demo model nothing has to be installed. Try one of these:" : "Write below. Type / for commands and @ for files."}</p>
        {demo && (
          <ul>
            {examples.map((e) => (
              <li key={e.text}>
                <button type="button" className="starter" onClick={() => attempt("The message was not sent", () => prompt(session, [{ type: "text", text: e.text }], "reject"))}>
                  <span className="mono">{e.text}</span>
                  <span className="faint small">{e.why}</span>
                </button>
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  );
}
