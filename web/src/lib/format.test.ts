import { expect, it } from "vitest";
import { dollarMark, duration, percent } from "./format";

it("never says zero seconds", () => {
  expect([duration(0), duration(49), duration(50), duration(8_000)]).toEqual(["<0.1 s", "<0.1 s", "0.1 s", "8 s"]);
  expect([duration(61_000), duration(120_000), duration(3_600_000), duration(3_660_000)]).toEqual(["1 min 1 s", "2 min", "1 h", "1 h 1 min"]);
});

it("marks of an axis differ, and shares are of the whole", () => {
  expect([0, 0.005, 0.01].map((n) => dollarMark(n, 0.005))).toEqual(["$0.000", "$0.005", "$0.010"]);
  expect([0, 0.5].map((n) => dollarMark(n, 0.5))).toEqual(["$0.00", "$0.50"]);
  expect([0, 20].map((n) => dollarMark(n, 20))).toEqual(["$0", "$20"]);
  expect([percent(0), percent(0.004), percent(0.5)]).toEqual(["0 %", "<1 %", "50 %"]);
});
