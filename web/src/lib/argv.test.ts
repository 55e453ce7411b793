import { expect, it } from "vitest";
import { splitCommand } from "./argv";

it.each([
  ["", []],
  ["  my-agent   --acp ", ["my-agent", "--acp"]],
  ["'/opt/my agent/bin' \"a b\" c\\ d", ["/opt/my agent/bin", "a b", "c d"]],
  [`x '' "" 'it'"'"'s' "say \\"hi\\""`, ["x", "", "", "it's", 'say "hi"']],
  ["x $HOME *", ["x", "$HOME", "*"]],
  ["x 'a\\b'", ["x", "a\\b"]],
])("splits %j", (line, want) => expect(splitCommand(line)).toEqual(want));

it.each(["x 'y", 'x "y'])("does not guess where %j ends", (line) => expect(splitCommand(line)).toBeNull());
