// @vitest-environment happy-dom
import { afterEach, expect, it } from "vitest";
import { parse } from "../lib/router";
import { pressRequestKey } from "./keys";

afterEach(() => document.body.replaceChildren());

function card(id: string): HTMLButtonElement {
  const section = document.createElement("section");
  section.dataset.request = id;
  const button = document.createElement("button");
  button.dataset.key = "s";
  section.append(button);
  document.body.append(section);
  return button;
}

it("presses the key of the request that has the focus, else of the first", () => {
  const pressed: string[] = [];
  const [one, two] = [card("1"), card("2")];
  one.onclick = () => pressed.push("1");
  two.onclick = () => pressed.push("2");
  expect(pressRequestKey("s")).toBe(true);
  two.focus();
  expect(pressRequestKey("s")).toBe(true);
  expect(pressed).toEqual(["1", "2"]);
});

it("presses nothing from outside a request where somebody can write", () => {
  const button = card("1");
  const composer = document.createElement("div");
  composer.className = "composer";
  composer.append(document.createElement("textarea"));
  document.body.append(composer);
  expect(pressRequestKey("s")).toBe(false);
  button.focus();
  expect(pressRequestKey("s")).toBe(true);
});

it("presses nothing that is not there or is being sent", () => {
  expect(pressRequestKey("s")).toBe(false);
  const button = card("1");
  expect(pressRequestKey("x")).toBe(false);
  button.disabled = true;
  expect(pressRequestKey("s")).toBe(false);
});

it.each([
  ["/", { page: "home" }],
  ["/s/01a1-b", { page: "session", session: "01a1-b" }],
  ["/s/%E0%A4%A", { page: "missing" }],
  ["/s/a%2Fb", { page: "missing" }],
  ["/s/", { page: "missing" }],
  ["/usage", { page: "usage" }],
  ["/nothing", { page: "missing" }],
])("%s", (path, route) => expect(parse(path)).toEqual(route));
