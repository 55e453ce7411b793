import { expect, it } from "vitest";
import type { Request } from "../api/types";
import { gather } from "./gather";

let made = 0;
const ask = (session: string, data: object, gate = "permission") => ({ request_id: `r${++made}`, session, gate, state: "open", data: { tool: "Bash", class: "execute", ...data } }) as unknown as Request;
const sessions = (...list: Request[]) => gather(list, (r) => r).map((g) => g.map((r) => r.session).join(" "));
const run = (command: string, more: object = {}) => ({ input: { command, ...more } });

it("what several sessions want is one, at the place of the first", () => {
  expect(sessions(ask("a", run("make")), ask("b", run("ls")), ask("c", run("make")), ask("d", run("make")))).toEqual(["a c d", "b"]);
  expect(sessions(ask("a", { input: { url: "u", prompt: "p" } }), ask("b", { input: { prompt: "p", url: "u" } }))).toEqual(["a b"]);
});

it.each([
  ["another command", run("make test")],
  ["another field", run("make", { timeout: 5 })],
  ["a field less", { input: {} }],
  ["another order of words", { input: { command: ["b", "a"] } }],
  ["another tool", { ...run("make"), tool: "Shell" }],
  ["another kind of tool", { ...run("make"), class: "other" }],
  ["another diff", { ...run("make"), diff: "+x" }],
])("%s is never together with it", (_, other) => {
  expect(sessions(ask("a", run("make")), ask("b", other))).toEqual(["a", "b"]);
});

it("one session that asks twice, questions and what has no input stay by themselves", () => {
  expect(sessions(ask("a", run("make")), ask("a", run("make")))).toEqual(["a", "a"]);
  expect(sessions(ask("a", { questions: [] }, "question"), ask("b", { questions: [] }, "question"))).toEqual(["a", "b"]);
  expect(sessions(ask("a", {}), ask("b", {}))).toEqual(["a", "b"]);
  expect(sessions(ask("a", run("make"), "trust"), ask("b", run("make"), "trust"))).toEqual(["a", "b"]);
});
