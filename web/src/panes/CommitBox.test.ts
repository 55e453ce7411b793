import { expect, it } from "vitest";
import { drafted } from "./CommitBox";

it("a drafted message never replaces what was typed while it was written", () => {
  expect(drafted({ text: "", turn: "t", before: "" }, "Theirs")).toEqual({ text: "Theirs", turn: "", before: "" });
  expect(drafted({ text: "Old", turn: "t", before: "Old" }, "Theirs")).toMatchObject({ text: "Theirs" });
  expect(drafted({ text: "Mine", turn: "t", before: "" }, "Theirs")).toMatchObject({ text: "Mine" });
  expect(drafted({ text: "Mine", turn: "t", before: "Mine" }, "")).toMatchObject({ text: "Mine" });
});
