import { execFile } from "node:child_process";
import { expect, it } from "vitest";
import { world } from "./harness";

const { server, open } = world();

/** What the program prints that Claude Code calls at a hook, in a terminal of a person. */
function hook(event: string, more: object): Promise<string> {
  return new Promise((done, failed) => {
    const child = execFile(process.env.TERRET_BIN ?? "../bin/terret", ["hook", event], { env: { PATH: process.env.PATH, TERRET_HOME: server.home } }, (error, out) => (error ? failed(error) : done(out)));
    child.stdin!.end(JSON.stringify({ session_id: "n1", cwd: server.project, hook_event_name: event, prompt_id: "p1", ...more }));
  });
}

it("a session in a terminal of its own is shown, and what it asks is answered here", async () => {
  const { page } = await open();
  const use = { tool_name: "Bash", tool_input: { command: "make release", description: "build it" } };
  expect(await hook("UserPromptSubmit", { prompt: "release it" })).toBe("");
  await page.getByText("release it").first().click();
  await page.getByText("This is Claude Code in a terminal of its own.").waitFor();
  expect(await page.getByRole("textbox", { name: /message/i }).count()).toBe(0);
  expect(await hook("PreToolUse", { ...use, tool_use_id: "t1" })).toBe("");

  // Here first.
  const answer = hook("PermissionRequest", use);
  await page.getByRole("button", { name: /^Allow ⏎?$/ }).first().click();
  expect(JSON.parse(await answer).hookSpecificOutput.decision.behavior).toBe("allow");
  expect(await hook("PostToolUse", { ...use, tool_use_id: "t1", tool_response: { stdout: "built" } })).toBe("");

  // The keyboard first: the result is there, and nobody need answer any more.
  expect(await hook("PreToolUse", { ...use, tool_use_id: "t2" })).toBe("");
  const late = hook("PermissionRequest", use);
  await page.getByRole("button", { name: /^Allow ⏎?$/ }).first().waitFor();
  expect(await hook("PostToolUse", { ...use, tool_use_id: "t2", tool_response: { stdout: "again" } })).toBe("");
  expect(await late).toBe("");
  await page.getByRole("button", { name: /^Allow ⏎?$/ }).first().waitFor({ state: "detached" });

  expect(await hook("Stop", { last_assistant_message: "It is released." })).toBe("");
  await page.getByRole("main").getByText("It is released.", { exact: true }).last().waitFor();
  expect(await page.getByText("while it worked").count()).toBe(0);
  await page.getByRole("button", { name: "Continue here" }).waitFor();
});
