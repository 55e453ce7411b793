import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { world } from "./harness";

// A program that speaks just enough ACP for a turn; "wait" makes it work until it is stopped.
const agent = `#!/bin/sh
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\\([0-9]*\\).*/\\1/p')
  answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" "$1"; }
  case $line in
  *'"initialize"'*) answer '{"protocolVersion":1,"agentInfo":{"name":"fake","version":"3.2.1"},"agentCapabilities":{}}' ;;
  *'"session/new"'*) answer '{"sessionId":"s1"}' ;;
  *'"session/prompt"'*wait*) ;;
  *'"session/prompt"'*)
    printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hello from mine"}}}}\\n'
    answer '{"stopReason":"end_turn"}' ;;
  *'"id"'*) answer '{}' ;;
  esac
done
`;

const { server, open } = world({ script: { turns: [[{ text: "Hi from the mock" }]] } }, () => writeFileSync(program, agent, { mode: 0o700 }));
const program = join(server.home, "my agent");

it("adds an agent, works with it, and removes it", async () => {
  const { page, watch, context } = await open();
  await page.goto(`${server.url}/agents`);
  await page.getByRole("button", { name: "Add an agent" }).click();
  const dialog = page.getByRole("dialog", { name: "Add an agent" });
  await dialog.getByLabel("Name", { exact: true }).fill("claude");
  await dialog.getByLabel("Command").fill(`'${program}' --acp`);
  await dialog.getByRole("button", { name: "Add" }).click();
  await dialog.getByRole("alert").filter({ hasText: "claude is built in" }).waitFor();

  await dialog.getByLabel("Name", { exact: true }).fill("mine");
  await dialog.getByLabel("Command").fill("no-such-program");
  await dialog.getByRole("button", { name: "Add" }).click();
  await dialog.getByRole("alert").filter({ hasText: "There is no program no-such-program" }).waitFor();
  await dialog.getByLabel(/Add it although/).waitFor();
  await dialog.getByLabel("Command").fill(`'${program}' --acp`);
  await dialog.getByRole("button", { name: "Add" }).click();
  await dialog.waitFor({ state: "detached" });

  const card = page.getByRole("region", { name: "mine" });
  await card.getByText("3.2.1").waitFor();
  await card.getByText("ready", { exact: true }).waitFor();
  await card.getByText("Terret sees what it asks about").waitFor();
  await card.getByText(/of \d+ abilities/).click();
  await card.getByText("ACP has no hooks").waitFor();

  // Its restrictions would not hold: the dialog says so, and a person can go on.
  await page.keyboard.press("n");
  const session = page.getByRole("dialog", { name: "New session" });
  await session.getByLabel("First message").fill("hello");
  await session.getByLabel(/^Agent/).selectOption("mine");
  await session.getByLabel(/^Mode(?!l)/).selectOption("deny-unless-allowed");
  await session.getByRole("button", { name: "Start", exact: true }).click();
  await session.getByRole("alert").filter({ hasText: "cannot be held to the policy deny-unless-allowed" }).waitFor();
  await session.getByLabel(/^Mode(?!l)/).selectOption("ask");
  await session.getByRole("alert").waitFor({ state: "detached" });
  await session.getByLabel(/^Mode(?!l)/).selectOption("deny-unless-allowed");
  await session.getByRole("button", { name: "Start", exact: true }).click();
  await session.getByRole("button", { name: "Start anyway" }).click();
  await page.getByText("Hello from mine").first().waitFor();

  // What it cannot do has no button.
  await page.getByRole("button", { name: "Session actions" }).click();
  await page.getByRole("menuitem", { name: "Export as HTML" }).waitFor();
  expect(await page.getByRole("menuitem", { name: "Fork" }).count()).toBe(0);
  expect(await page.getByRole("menuitem", { name: "Undo last turn" }).count()).toBe(1);
  await page.keyboard.press("Escape");
  expect(await page.getByRole("button", { name: "Attach files" }).count()).toBe(0);

  // It is not removed while it works.
  await page.getByRole("textbox", { name: "Message" }).fill("wait");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: /^Stop/ }).first().waitFor();
  await page.goto(`${server.url}/agents`);
  await page.getByRole("button", { name: "Remove mine" }).click();
  const removal = page.getByRole("dialog", { name: "Remove mine?" });
  await removal.getByRole("button", { name: "Remove" }).click();
  await removal.getByRole("alert").filter({ hasText: "mine is at work in session" }).waitFor();
  const { body } = await server.api<{ items: { id: string }[] }>("GET", "/v1/sessions?agent=mine");
  for (const s of body.items) await server.api("POST", `/v1/sessions/${s.id}/kill`, {});
  await expect.poll(async () => (await server.api<{ items: unknown[] }>("GET", "/v1/sessions?agent=mine&state=busy,interrupting")).body.items.length).toBe(0);
  await removal.getByRole("button", { name: "Remove" }).click();
  await removal.waitFor({ state: "detached" });
  await card.waitFor({ state: "detached" });
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("chooses an agent, its model and its own mode", async () => {
  const { page, watch, context } = await open();
  await page.getByRole("button", { name: /New session/ }).first().click();
  const dialog = page.getByRole("dialog", { name: "New session" });
  expect(await dialog.getByLabel(/own mode/).count()).toBe(0); // no agent is chosen
  await dialog.getByLabel(/^Agent/).selectOption("native");
  await dialog.getByLabel(/^Model/).selectOption("demo");
  expect(await dialog.getByLabel(/own mode/).count()).toBe(0);
  await dialog.getByLabel(/^Agent/).selectOption("mock");
  await dialog.getByLabel(/own mode/).selectOption("plan");
  await dialog.getByLabel("First message").fill("hello");
  await dialog.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByText("Hi from the mock").first().waitFor();
  const made = await server.api<{ items: { agent: string; permission_mode: string }[] }>("GET", "/v1/sessions?agent=mock");
  expect(made.body.items.map((s) => s.permission_mode)).toEqual(["plan"]);
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("only the owner sees how to add one", async () => {
  const made = await server.api<{ token: string }>("POST", "/v1/tokens", { name: "phone", scope: "decide" });
  const { page, context } = await open();
  await page.evaluate((token) => localStorage.setItem("terret.token", token), made.body.token);
  await page.goto(`${server.url}/agents`);
  await page.getByRole("heading", { name: "What each can do" }).waitFor();
  expect(await page.getByRole("button", { name: "Add an agent" }).count()).toBe(0);
  await context.close();
});
