// @vitest-environment happy-dom
import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Request } from "../api/types";
import { PermissionCard } from "./PermissionCard";

const sent = vi.hoisted(() => vi.fn(async () => {}));
vi.mock("../api/actions", () => ({ decide: sent }));

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

const two = ["Bash(git push --force)", "Bash(ls *)"];
let root: ReturnType<typeof createRoot>;
let box: HTMLElement;

beforeEach(() => {
  sent.mockClear();
  box = document.createElement("div");
  document.body.append(box);
  root = createRoot(box);
});

afterEach(async () => {
  await act(async () => root.unmount());
  box.remove();
});

async function card(suggestions: string[]): Promise<Request> {
  const request = { request_id: "r", gate: "permission", data: { request_id: "r", tool: "Bash", input: { command: "ls -la /etc && git push --force" }, suggestions } } as unknown as Request;
  await act(async () => root.render(<PermissionCard request={request} cwd="/p" />));
  return request;
}

const press = (key: string) => act(async () => box.querySelector<HTMLElement>(`[data-key="${key}"]`)!.click());
const submit = () => act(async () => box.querySelector<HTMLElement>("[type=submit]")!.click());

it("allows for the session what the whole command needs, and says so", async () => {
  const request = await card(two);
  expect(box.textContent).toContain("Allow for session adds Bash(git push --force), Bash(ls *)");
  await press("s");
  expect(sent).toHaveBeenCalledWith(request, { behavior: "allow", scope: "session" });
});

it("always allows all of it", async () => {
  const request = await card(two);
  await press("a");
  expect([...box.querySelectorAll("li")].map((l) => l.textContent)).toEqual(two);
  await submit();
  expect(sent).toHaveBeenCalledWith(request, { behavior: "allow", scope: "always" });
});

it("always allows another rule than those that are suggested", async () => {
  const request = await card(two);
  await press("a");
  await act(async () => [...box.querySelectorAll("button")].find((b) => b.textContent === "Write one rule instead")!.click());
  expect(box.querySelector("input")!.value).toBe(two[0]);
  await submit();
  expect(sent).toHaveBeenCalledWith(request, { behavior: "allow", scope: "always", rule: two[0] });
});

it("one suggestion can be edited, and without one the rule is shown first", async () => {
  await card(["Bash(ls *)"]);
  await press("a");
  expect(box.querySelector("input")!.value).toBe("Bash(ls *)");
  await act(async () => root.render(null));
  await card([]);
  expect(box.textContent).not.toContain("adds");
  await press("s");
  expect(box.querySelector("input")!.value).toBe("Bash(ls -la /etc && git push --force)");
  expect(sent).not.toHaveBeenCalled();
});

it("shows the command that an agent names in its own way, and lets it be edited", async () => {
  const request = { request_id: "r", gate: "permission", data: { request_id: "r", tool: "exec_command", class: "execute", input: { cmd: "touch made.txt", workdir: "/p" } } } as unknown as Request;
  await act(async () => root.render(<PermissionCard request={request} cwd="/p" />));
  expect(box.textContent).toContain("touch made.txt");
  expect(box.textContent).not.toContain("{");
  await press("e");
  expect(box.querySelector("textarea")!.value).toBe("touch made.txt");
  await submit();
  expect(sent).toHaveBeenCalledWith(request, { behavior: "allow", scope: "once", updated_input: { cmd: "touch made.txt", workdir: "/p" } });
});
