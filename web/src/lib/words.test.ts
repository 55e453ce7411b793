import { expect, it } from "vitest";
import { choiceName, modelName, namesBy, signInHint } from "./words";

it.each([
  ["claude-opus-4-5-20250929", "Opus 4.5"], ["claude-sonnet-4-20250514", "Sonnet 4"], ["claude-3-5-haiku-latest", "Haiku 3.5"],
  ["anthropic/claude-opus-4-1", "Opus 4.1"], ["claude-sonnet-4-5[1m]", "Sonnet 4.5 [1m]"], ["gpt-5-codex", "gpt-5-codex"], ["", ""],
])("%s is %s", (model, name) => expect(modelName(model)).toBe(name));

it("names agents as the server does", () => {
  const { agentName } = namesBy([{ agent: "claude", title: "Claude Code" }, { agent: "mine" }, { agent: "native", model: "demo" }]);
  expect([agentName("claude"), agentName("native"), agentName("native", "claude-opus-4-5"), agentName("mine"), agentName("other"), agentName(undefined), agentName("claude-terminal")])
    .toEqual(["Claude Code", "Demo", "Terret", "mine", "other", "The agent", "Claude Code in a terminal"]);
});

it("calls nothing a demo that may cost money, and says which model it is", () => {
  expect(namesBy([]).agentName("native")).toBe("Terret"); // until it is known
  expect(namesBy([{ agent: "native", model: "anthropic/claude-sonnet-4-5" }]).agentName("native")).toBe("Terret");
  expect(namesBy([{ agent: "native", model: "anthropic/claude-sonnet-4-5" }]).agentName("native", "demo")).toBe("Demo");
  expect([{ agent: "native", model: "anthropic/claude-sonnet-4-5" }, { agent: "native", model: "demo" }, { agent: "opencode-acp", title: "OpenCode (ACP)" }, { agent: "mine" }].map(choiceName))
    .toEqual(["Terret (built in) · Sonnet 4.5", "Demo (built in)", "OpenCode (ACP)", "mine"]);
});

it("does not say twice that nobody is signed in", () => {
  expect([signInHint("nobody is signed in; run `codex login`"), signInHint("set a key")]).toEqual(["Run `codex login`", "Set a key"]);
});
