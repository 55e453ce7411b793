// @vitest-environment happy-dom
import { act } from "react";
import { createRoot } from "react-dom/client";
import { expect, it } from "vitest";
import { useConnection } from "../stream/live";
import { Away } from "./Away";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

it("says that the server is away, in a place that screen readers know before", async () => {
  const box = document.createElement("div");
  const root = createRoot(box);
  const become = (state: "connecting" | "live" | "reconnecting") => act(async () => useConnection.setState({ state }));
  await act(async () => root.render(<Away />));
  const status = box.querySelector("[role=status]")!;
  for (const [state, words] of [["connecting", ""], ["live", ""], ["reconnecting", "Not connected. Trying again…"], ["live", ""]] as const) {
    await become(state);
    expect(status.textContent).toBe(words);
  }
  await act(async () => root.unmount());
});
