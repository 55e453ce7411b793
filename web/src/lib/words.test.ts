import { expect, it } from "vitest";
import { modelName, namesBy, signInHint } from "./words";

it.each([
  ["claude-opus-4-5-20250929", "Opus 4.5"], ["claude-sonnet-4-20250514", "Sonnet 4"], ["claude-3-5-haiku-latest", "Haiku 3.5"],
  ["anthropic/claude-opus-4-1", "Opus 4.1"], ["claude-sonnet-4-5[1m]", "Sonnet 4.5 [1m]"], ["gpt-5-codex", "gpt-5-codex"], ["", ""],
])("%s is %s", (model, name) => expect(modelName(model)).toBe(name));

it("names agents as the server does", () => {
  const { agentName } = namesBy([{ agent: "claude", title: "Claude Code" }, { agent: "mine" }]);
  expect([agentName("claude"), agentName("native"), agentName("native", "claude-opus-4-5"), agentName("mine"), agentName("other"), agentName(undefined)])
    .toEqual(["Claude Code", "Demo", "Terret", "mine", "other", "The agent"]);
});

it("does not say twice that nobody is signed in", () => {
  expect([signInHint("nobody is signed in; run `codex login`"), signInHint("set a key")]).toEqual(["Run `codex login`", "Set a key"]);
});
