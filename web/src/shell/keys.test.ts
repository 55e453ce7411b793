// @vitest-environment happy-dom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, createElement } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, expect, it, vi } from "vitest";
import { keys } from "../api/keys";
import { parse } from "../lib/router";
import { useView } from "../lib/state";
import { session } from "../model/testing";
import { pressRequestKey, useKeys } from "./keys";

const interrupt = vi.hoisted(() => vi.fn(async () => {}));
vi.mock("../api/actions", () => ({ interrupt }));

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

afterEach(() => document.body.replaceChildren());

/** The keyboard of a session that works. */
async function keyboard(): Promise<{ press: (key: string, on?: Element) => Promise<void>; off: () => Promise<void> }> {
  interrupt.mockClear();
  history.replaceState(null, "", "/s/s1");
  const client = new QueryClient();
  client.setQueryData(keys.sessions, { items: [session("s1", { state: "busy" })] });
  const Keys = () => (useKeys(), null);
  const root = createRoot(document.createElement("div"));
  await act(async () => root.render(createElement(QueryClientProvider, { client }, createElement(Keys))));
  return {
    press: (key, on = document.body) => act(async () => {
      on.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
      on.dispatchEvent(new KeyboardEvent("keyup", { key, bubbles: true }));
    }),
    off: () => act(async () => root.unmount()),
  };
}

it("Esc leaves the form of a request, wherever the focus is in it, before it stops the turn", async () => {
  const { press, off } = await keyboard();
  const save = card("1");
  const back = document.createElement("button");
  back.dataset.key = "Escape";
  back.onclick = () => back.remove();
  save.after(back);
  save.focus();
  await press("Escape", save);
  expect([back.isConnected, interrupt.mock.calls.length]).toEqual([false, 0]);
  await press("Escape", save);
  expect(interrupt).toHaveBeenCalledTimes(1);
  await off();
});

function card(id: string): HTMLButtonElement {
  const section = document.createElement("section");
  section.dataset.request = id;
  const button = document.createElement("button");
  button.dataset.key = "s";
  section.append(button);
  document.body.append(section);
  return button;
}

it("Esc closes the drawer before it stops the turn", async () => {
  const { press, off } = await keyboard();
  const drawer = document.createElement("aside");
  drawer.className = "drawer";
  const field = document.createElement("input");
  drawer.append(field);
  document.body.append(drawer);
  vi.stubGlobal("matchMedia", () => ({ matches: false }));
  for (const at of [document.body, field]) {
    useView.setState({ drawer: true });
    await press("Escape", at);
    expect([useView.getState().drawer, interrupt.mock.calls.length]).toEqual([false, 0]);
  }
  drawer.remove();
  await press("Escape");
  expect(interrupt).toHaveBeenCalledTimes(1);
  vi.unstubAllGlobals();
  await off();
});

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
