import { createSession, type NewSession, prompt } from "../api/actions";
import { go, sessionPath } from "../lib/router";
import { useSettings } from "../lib/state";
import { attempt } from "../lib/toast";

/** Makes a session, goes there, and says the first words. */
export async function startSession(options: NewSession, first?: string): Promise<boolean> {
  const session = await attempt("The session could not be made", () => createSession(options));
  if (!session) return false;
  useSettings.setState({ lastFolder: options.cwd });
  go(sessionPath(session.id));
  if (first) await attempt("The message was not sent", () => prompt(session.id, [{ type: "text", text: first }], "reject"));
  return true;
}
