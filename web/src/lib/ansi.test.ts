import { expect, it } from "vitest";
import { play } from "./ansi";

const flat = async (s: string) => (await play(s)).map((line) => line.map((x) => x.text).join(""));

it("plays what a terminal would show", async () => {
  expect(await flat("10%\r50%\r100%\ndone\n")).toEqual(["100%", "done"]);
  expect(await flat("abc\u001b[2D!\n")).toEqual(["a!c"]);
  expect(await flat(`${"x".repeat(450)}\nend`)).toEqual(["x".repeat(450), "end"]);
});

it("keeps colours as classes", async () => {
  expect(await play("\u001b[1;31mred\u001b[0m plain")).toEqual([
    [{ text: "red", className: "ansi-1 ansi-bold" }, { text: " plain", className: "" }],
  ]);
});

it("keeps the 256 colours and those by their parts", async () => {
  expect((await play("\u001b[38;5;208morange\u001b[38;5;244mgrey\u001b[38;2;1;2;3mown\u001b[38;5;1mred"))[0]).toEqual([
    { text: "orange", className: "ansi-color", color: "#ff8700" }, { text: "grey", className: "ansi-color", color: "#808080" },
    { text: "own", className: "ansi-color", color: "#010203" }, { text: "red", className: "ansi-1" },
  ]);
});

it("shows neither links nor titles nor markup that output tries to make", async () => {
  expect(await flat("\u001b]8;;javascript:alert(1)\u0007click\u001b]8;;\u0007\u001b]0;owned\u0007\u001bPq<script>\u001b\\")).toEqual(["click"]);
  expect(await flat("<img src=x onerror=alert(1)>")).toEqual(["<img src=x onerror=alert(1)>"]);
});
