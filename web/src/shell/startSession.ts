import { createSession, type NewSession, prompt } from "../api/actions";
import { ApiError } from "../api/http";
import { go, sessionPath } from "../lib/router";
import { useSettings } from "../lib/state";
import { attempt, say } from "../lib/toast";

/** The limits that Settings name. */
function limits(): Partial<NewSession> {
  const { limitCost, limitSteps, limitWait } = useSettings.getState();
  return {
    ...(limitCost ? { max_cost_usd: limitCost } : {}),
    ...(limitSteps ? { max_turns: limitSteps } : {}),
    ...(limitWait ? { timeouts: { permission: limitWait, question: limitWait, plan: limitWait } } : {}),
  };
}

/**
 * Makes a session, goes there, and says the first words. A session whose restrictions
 * the agent could get around is refused; then onLoose is told why.
 */
export async function startSession(options: NewSession, first?: string, onLoose?: (why: string) => void): Promise<boolean> {
  const session = await attempt("The session could not be made", async () => {
    try {
      return await createSession({ ...limits(), ...options });
    } catch (cause) {
      if (!onLoose || !(cause instanceof ApiError) || cause.field !== "unenforced") throw cause;
      onLoose(cause.message);
      return undefined;
    }
  });
  if (!session) return false;
  for (const note of session.notes ?? []) say(note);
  useSettings.setState({ lastFolder: options.cwd });
  go(sessionPath(session.id));
  if (first) await attempt("The message was not sent", () => prompt(session.id, [{ type: "text", text: first }], "reject"));
  return true;
}
