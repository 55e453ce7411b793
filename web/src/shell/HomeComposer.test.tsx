// @vitest-environment happy-dom
import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Probe } from "../api/types";
import { useSettings } from "../lib/state";
import { HomeComposer } from "./HomeComposer";

const there = vi.hoisted(() => ({ agents: [] as unknown[], looking: true }));
const started = vi.hoisted(() => vi.fn(async (_options: Record<string, unknown>) => true));
vi.mock("../api/queries", () => ({
  useInstalled: () => there, useModels: () => ({ data: undefined }), useRoots: () => ({ data: { items: [{ path: "/p" }] } }), useSessions: () => ({ data: { items: [] } }),
}));
vi.mock("../api/names", () => ({ useNames: () => ({ agentName: (a: string) => a }) }));
vi.mock("./startSession", () => ({ startSession: started }));
vi.mock("./Away", () => ({ Away: () => null }));

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

let box: HTMLElement;
let root: ReturnType<typeof createRoot>;
const draw = () => act(async () => root.render(<HomeComposer key={Math.random()} />));
const picker = (label: string) => box.querySelector<HTMLSelectElement>(`[aria-label="${label}"]`)!;
const choose = (label: string, value: string) => act(async () => {
  const select = picker(label);
  select.value = value;
  select.dispatchEvent(new Event("change", { bubbles: true }));
});
const begin = async () => {
  const field = box.querySelector("textarea")!;
  await act(async () => {
    Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value")!.set!.call(field, "go");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await act(async () => box.querySelector("form")!.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true })));
  return started.mock.lastCall![0];
};
const probe = (agent: string) => ({ agent, found: true }) as Probe;

beforeEach(() => {
  started.mockClear();
  box = document.createElement("div");
  document.body.append(box);
  root = createRoot(box);
  useSettings.setState({ lastAgent: "codex", lastPolicy: "ask" });
});
afterEach(async () => {
  await act(async () => root.unmount());
  box.remove();
});

it("the agent that was chosen is shown and started, also before the list has come", async () => {
  Object.assign(there, { agents: [], looking: true });
  await draw();
  expect(picker("Agent").value).toBe("codex");
  expect((await begin()).agent).toBe("codex");
  Object.assign(there, { agents: [probe("claude"), probe("codex")], looking: false });
  await draw();
  expect(picker("Agent").value).toBe("codex");
  expect((await begin()).agent).toBe("codex");
});

it("an agent that is gone is neither shown nor started", async () => {
  Object.assign(there, { agents: [probe("claude")], looking: false });
  await draw();
  expect(picker("Agent").value).toBe("");
  expect((await begin()).agent).toBeUndefined();
});

it("full auto says so on the button, and is not there the next time", async () => {
  Object.assign(there, { agents: [], looking: false });
  await draw();
  await choose("Mode", "auto-approve");
  expect(box.querySelector("[type=submit]")!.textContent).toContain("Start in full auto");
  expect(box.querySelector("[type=submit]")!.className).toContain("loose");
  expect((await begin()).policy).toBe("auto-approve");
  await draw();
  expect(picker("Mode").value).toBe("ask");
  expect(box.querySelector("[type=submit]")!.textContent).not.toContain("full auto");
  await choose("Mode", "plan");
  await draw();
  expect((await begin()).policy).toBe("plan"); // the others are remembered
});
