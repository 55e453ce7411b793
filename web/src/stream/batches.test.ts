import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Script } from "../model/testing";
import { between, inBatches } from "./batches";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** The kinds of the events in each batch. */
function taken() {
  const got: string[][] = [];
  return { got, ...inBatches((events) => got.push(events.map((e) => e.kind))) };
}

const state = () => new Script().add("session.state", { state: "busy" }).events;
const asked = (id: string) => new Script().add("permission.request", { request_id: id }).events;
const answered = (id: string) => new Script().add("permission.decision", { request_id: id, gate: "permission", behavior: "allow", source: "rule" }).events;

it("hands on the first events at once, and those after them together", () => {
  const { got, push } = taken();
  for (let i = 0; i < 4; i++) push(state());
  expect(got.map((b) => b.length)).toEqual([1]);
  vi.advanceTimersByTime(between);
  expect(got.map((b) => b.length)).toEqual([1, 3]);
  vi.advanceTimersByTime(between);
  push(state());
  expect(got.map((b) => b.length)).toEqual([1, 3, 1]);
});

it("does not let a person wait for what is asked, nor for the end of it", () => {
  const { got, push } = taken();
  push(state());
  push(state());
  push(asked("r"));
  expect(got.at(-1)).toEqual(["session.state", "permission.request"]);
  push(answered("r"));
  expect(got.at(-1)).toEqual(["permission.decision"]);
});

it("lets wait what a rule answered at once", () => {
  const { got, push } = taken();
  push(state());
  push([...asked("r"), ...answered("r")]);
  push(new Script().add("hook.decision", { request_id: "h", gate: "tool.pre" as never, behavior: "allow", source: "policy" }).events);
  expect(got).toHaveLength(1);
  vi.advanceTimersByTime(between);
  expect(got.at(-1)).toEqual(["permission.request", "permission.decision", "hook.decision"]);
});

it("hands on nothing once it is closed", () => {
  const { got, push, close } = taken();
  push(state());
  push(state());
  close();
  vi.advanceTimersByTime(between);
  expect(got).toHaveLength(1);
});
