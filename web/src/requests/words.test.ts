import { expect, it } from "vitest";
import type { Decision, Request } from "../api/types";
import { heading, headline, reasonOf } from "./words";

const ask = (data: object): Request => ({ request_id: "r", session: "s", gate: "permission", state: "open", created_at: "", seq: 1, delivered: true, data } as unknown as Request);

it.each([
  [{ class: "execute", input: { command: "make deploy" } }, "Run make deploy", "Claude wants to run make deploy"],
  [{ class: "execute", input: { command: "a\nb" } }, "Run a command", "Claude wants to run a command"],
  [{ class: "edit", input: { file_path: "/p/cart.go" } }, "Edit cart.go", "Claude wants to edit cart.go"],
  [{ class: "edit", input: { path: "cart.go" }, diff: "--- /dev/null\n+++ b/cart.go\n" }, "Create cart.go", "Claude wants to create cart.go"],
  [{ class: "fetch", input: { url: "https://example.org/a?b" } }, "Fetch example.org", "Claude wants to fetch example.org"],
  [{ class: "mcp", tool: "tickets" }, "Use tickets", "Claude wants to use tickets"],
])("%j", (data, short, whole) => {
  expect(headline(ask(data), "Claude")).toBe(short);
  expect(heading(ask(data), "Claude")).toBe(whole);
});

it("reasons name modes as people know them", () => {
  const why = (reason: string) => reasonOf({ reason } as Decision);
  expect(why("The policy auto-approve allows whatever no rule denies.")).toBe("The mode Full auto allows whatever no rule denies.");
  expect(why("The policy of the house")).toBe("The policy of the house");
});
