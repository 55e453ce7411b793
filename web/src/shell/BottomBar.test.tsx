// @vitest-environment happy-dom
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it, vi } from "vitest";
import { BottomBar } from "./BottomBar";

const at = vi.hoisted(() => ({ page: "home" }));
vi.mock("../api/queries", () => ({ useRequests: () => ({}) }));
vi.mock("../lib/router", () => ({ useRoute: () => at }));

it("offers changes only of a session", () => {
  expect(renderToStaticMarkup(<BottomBar />)).not.toContain("Changes");
  at.page = "session";
  expect(renderToStaticMarkup(<BottomBar />)).toContain("Changes");
});
