// @vitest-environment happy-dom
import { afterEach, expect, it, vi } from "vitest";
import { useSettings, useView } from "../lib/state";
import { showRight, toggleRight } from "./rightPane";

afterEach(() => vi.unstubAllGlobals());

const width = (px: number) => vi.stubGlobal("matchMedia", (query: string) => ({ matches: px >= Number(/\d+/.exec(query)![0]) }));
const open = () => ({ beside: useSettings.getState().right, over: useView.getState().drawer });

it("the pane beside the conversation is not the one over it", () => {
  width(1440);
  toggleRight("s");
  expect(open()).toEqual({ beside: true, over: false });
  width(1024);
  toggleRight("s");
  expect(open()).toEqual({ beside: true, over: true });
  toggleRight("s");
  expect(open()).toEqual({ beside: true, over: false });
  width(1440);
  showRight(false);
  expect(open()).toEqual({ beside: false, over: false });
});
