import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { live, world } from "./harness";

const report = {
  verdict: "FAIL", summary: "It divides by zero.", findings: [
    { severity: "low", category: "style", file: "other.go", line: 7, message: "Nobody calls this.", suggestion: "" },
    { severity: "high", category: "bug", file: "cart.go", line: 2, message: "This divides by zero.", suggestion: "Check the count first." },
  ],
};
const { server, open } = world({ script: { overseen: true, turns: [[{ delay: "200ms" }, { text: JSON.stringify(report) }]] } }, prepare);
const git = (...args: string[]) => execFileSync("git", ["-C", server.project, ...args], { env: { ...process.env, HOME: dirname(server.home) } }).toString();

function prepare(): void {
  writeFileSync(join(dirname(server.home), ".gitconfig"), "[user]\nname = t\nemail = t@t\n");
  writeFileSync(join(server.project, "cart.go"), "package cart\nvar each = 1\n");
  git("init", "-q", "-b", "main");
  git("add", ".");
  git("commit", "-qm", "one");
}

it("a workflow runs step by step, asks what to do about a failed step, and goes on", async () => {
  const { context, page, watch } = await open();
  await page.goto(`${server.url}/workflows`);
  await live(page);
  await page.getByText("No runs yet").waitFor();
  await page.getByRole("button", { name: "Run a workflow" }).click();
  const dialog = page.getByRole("dialog", { name: "Run a workflow" });
  await dialog.getByRole("textbox", { name: "Steps (YAML)" }).fill(
    "name: notes\nsteps:\n  - {id: look, agent: native, prompt: list files}\n  - {id: write, agent: native, prompt: 'create notes.txt containing {{input}}', check: test -f allowed, on_failure: ask}\n  - {id: end, agent: native, prompt: list files}\n",
  );
  await dialog.getByRole("textbox", { name: "Input" }).fill("hello");
  await dialog.getByRole("textbox", { name: "Folder" }).fill(server.project);
  await dialog.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByText("A step failed. What now?").waitFor();
  await page.locator('[data-step="look"].completed').waitFor();
  await page.locator('[data-step="end"].pending').waitFor();
  writeFileSync(join(server.project, "allowed"), "");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.locator('[data-step="end"].completed').waitFor();
  await expect.poll(() => page.getByRole("progressbar", { name: "Steps done" }).getAttribute("value")).toBe("3");
  await page.getByRole("link", { name: "← Workflows" }).click();
  await page.getByRole("list", { name: "Runs" }).getByText("3 of 3 steps").waitFor();
  expect(watch.problems).toEqual([]);
  await context.close();
  git("clean", "-qfd");
});

it("a review stands on the diff, and one key turns a finding into a prompt", async () => {
  writeFileSync(join(server.project, "cart.go"), "package cart\nvar each = 1 / zero\n");
  const session = await server.session({ agent: "native", title: "the cart" });
  const { context, page, watch } = await open();
  await page.goto(`${server.url}/reviews`);
  await live(page);
  await page.getByText("No reviews yet").waitFor();
  await page.getByRole("button", { name: "Start a review" }).click();
  const dialog = page.getByRole("dialog", { name: "Start a review" });
  await dialog.getByRole("textbox", { name: "Folder" }).fill(server.project);
  await dialog.getByLabel("Agent 1", { exact: true }).selectOption("mock");
  await dialog.getByRole("button", { name: "Add an agent" }).click();
  await dialog.getByLabel("Agent 2", { exact: true }).selectOption("mock");
  await dialog.getByRole("button", { name: "Start", exact: true }).click();

  // On the diff, or, if the diff has no such line, beside it.
  const bug = page.getByRole("group", { name: "Diff of cart.go" }).getByRole("article", { name: "High: This divides by zero." });
  await bug.waitFor();
  await page.getByRole("region", { name: "Not on the diff" }).getByRole("article", { name: "Low: Nobody calls this." }).getByText("unverified").waitFor();
  await expect.poll(() => page.locator(".work-title .verdict").textContent()).toBe("Fail");
  await expect.poll(() => page.getByRole("list", { name: "Reviewers" }).getByRole("listitem").count()).toBe(2);
  await page.keyboard.press("j");
  await page.keyboard.press("f");
  await page.waitForURL(`**/s/${session}`);
  const composer = page.getByRole("textbox", { name: "Message", exact: true });
  await expect.poll(() => composer.inputValue()).toBe("A review found this. Check whether it is right, and fix it if so.\n\ncart.go:2\n> var each = 1 / zero\nhigh, bug: This divides by zero.\n\nSuggestion: Check the count first.");

  // Into a new session, by the button.
  await page.goBack();
  await page.getByLabel("Fix in").selectOption("A new session");
  await page.getByRole("article", { name: "Low: Nobody calls this." }).getByRole("button", { name: "Have it fixed" }).click();
  await expect.poll(() => page.getByRole("textbox", { name: "What should the agent do?" }).inputValue()).toContain("other.go:7\nlow, style: Nobody calls this.");
  expect(watch.problems).toEqual([]);
  await context.close();
  git("checkout", "-q", ".");
});

it("a race is seen side by side, compared, and one is kept", async () => {
  git("clean", "-qfd");
  const go = join(dirname(server.home), "go"); // the checks wait for it
  const { context, page, watch } = await open();
  await page.goto(`${server.url}/races`);
  await live(page);
  await page.getByText("No races yet").waitFor();
  await page.getByRole("button", { name: "Start a race" }).click();
  const dialog = page.getByRole("dialog", { name: "Start a race" });
  await dialog.getByRole("textbox", { name: "Task" }).fill("create won.txt containing yes");
  await dialog.getByLabel("Agent 1", { exact: true }).selectOption("native");
  await dialog.getByLabel("Agent 2", { exact: true }).selectOption("mock");
  await dialog.getByRole("button", { name: "Add an agent" }).click();
  await dialog.getByLabel("Agent 3", { exact: true }).selectOption("native");
  await dialog.getByRole("textbox", { name: "Check" }).fill(`until test -f ${go}; do sleep 0.1; done; test -f won.txt`);
  await dialog.getByRole("textbox", { name: "Folder" }).fill(server.project);
  await dialog.getByRole("button", { name: "Start", exact: true }).click();
  for (const racer of ["native-1", "mock-2", "native-3"]) await page.getByRole("region", { name: racer, exact: true }).waitFor();
  await page.getByRole("region", { name: "Conversation of native-1" }).getByText("won.txt").first().waitFor();
  writeFileSync(go, "");

  const results = page.getByRole("group", { name: "Results" });
  await results.getByText("suggested").waitFor();
  await expect.poll(() => results.getByText("passed").count()).toBe(2);
  expect(await results.getByText("failed", { exact: true }).count()).toBe(1);
  expect(await results.getByRole("button", { name: "Keep" }).count()).toBe(2); // one changed nothing
  await page.getByRole("button", { name: "native-3", exact: true }).click();
  await page.getByRole("group", { name: "Diff of won.txt" }).getByText("yes").waitFor();
  await results.getByRole("row", { name: /native-3/ }).getByRole("button", { name: "Keep" }).click();
  await page.getByRole("dialog", { name: "Keep native-3?" }).getByRole("button", { name: "Merge" }).click();
  await page.getByText("Kept native-3").first().waitFor();
  expect(readFileSync(join(server.project, "won.txt"), "utf8")).toContain("yes");
  await expect.poll(() => git("worktree", "list").trim().split("\n").length).toBe(1);

  // Another one is dropped.
  const { body } = await server.api<{ id: string }>("POST", "/v1/races", { cwd: server.project, task: "create lost.txt containing no", agents: ["native", "native"] });
  await page.goto(`${server.url}/races/${body.id}`);
  await page.getByRole("button", { name: "Drop all" }).click();
  await page.getByRole("dialog", { name: "Drop everything?" }).getByRole("button", { name: "Drop all" }).click();
  await page.locator(".work-title").getByText("Dropped").waitFor();
  expect(existsSync(join(server.project, "lost.txt"))).toBe(false);
  await expect.poll(() => git("worktree", "list").trim().split("\n").length).toBe(1);
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("a session is handed over, and both know of each other", async () => {
  const { context, page, watch } = await open();
  const id = await server.session({ agent: "native", policy: "auto-approve" }, "create basket.txt containing apples");
  await page.goto(`${server.url}/s/${id}`);
  await live(page);
  await page.locator(".turn-end").waitFor();
  await page.getByRole("button", { name: "Session actions" }).click();
  await page.getByRole("menuitem", { name: "Hand over…" }).click();
  const dialog = page.getByRole("dialog", { name: "Hand over" });
  await dialog.getByRole("combobox", { name: "To" }).selectOption("mock");
  await dialog.getByLabel("What should it do next?").fill("Add pears.");
  await dialog.getByRole("button", { name: "Hand over" }).click();
  await page.waitForURL((url) => url.pathname.startsWith("/s/") && !url.pathname.endsWith(id));
  await page.locator(".conversation").getByText("It divides by zero.").first().waitFor();
  await page.locator(".links-strip").getByText("Continues").waitFor();
  await page.locator(".links-strip").getByRole("link").click();
  await page.waitForURL(`**/s/${id}`);
  await page.locator(".links-strip").getByText("Handed over to Mock").waitFor();
  expect(watch.problems).toEqual([]);
  await context.close();
});
