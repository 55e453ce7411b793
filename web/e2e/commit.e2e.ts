import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { live, openTab, world } from "./harness";

const { server, open } = world({ script: { turns: [[{ text: "```\nSell by the dozen\n\nPeople buy more eggs.\n```" }]] } });
const git = (...args: string[]) => execFileSync("git", args, { cwd: server.project, encoding: "utf8", env: { ...process.env, HOME: server.home, GIT_CONFIG_NOSYSTEM: "1" } }).trim();
const write = (name: string, text: string) => writeFileSync(join(server.project, name), text);

it("changes are committed with a message that the agent drafted", async () => {
  const { context, page, watch } = await open();
  rmSync(join(server.project, ".git"), { recursive: true, force: true });
  write("eggs.txt", "one\n");
  const id = await server.session({ agent: "mock" });
  await page.goto(`${server.url}/s/${id}`);
  await live(page);
  await openTab(page, "Changes");
  await page.getByText("nothing to compare with").waitFor();
  expect(await page.getByRole("form", { name: "Commit" }).count()).toBe(0);

  git("init", "-q", "-b", "main");
  git("add", ".");
  git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "one");
  write("eggs.txt", "twelve\n");
  write("later.txt", "later\n");
  await page.reload();
  await live(page);
  await page.keyboard.press("Alt+c");
  const review = page.getByRole("main", { name: "Changes" });
  const box = review.getByRole("form", { name: "Commit" });
  const message = box.getByRole("textbox", { name: "Commit message" });

  await box.getByRole("button", { name: "Draft" }).click();
  await expect.poll(() => message.inputValue()).toBe("Sell by the dozen\n\nPeople buy more eggs.");

  // Git does not know who commits: it says so, and the message stays.
  await box.getByRole("button", { name: "Commit 2 files" }).click();
  await page.getByText("git does not know who you are").first().waitFor();
  git("config", "user.name", "Ada");
  git("config", "user.email", "ada@example.org");

  // Only what was looked at and kept.
  await review.getByRole("button", { name: "Keep eggs.txt" }).click();
  await box.getByRole("combobox", { name: "What to commit" }).selectOption("kept");
  await box.getByRole("button", { name: "Commit 1 file" }).click();
  await page.getByText(/^Committed 1 file as [0-9a-f]{8}$/).first().waitFor();
  expect(git("log", "-1", "--format=%an: %s / %b")).toBe("Ada: Sell by the dozen / People buy more eggs.");
  expect(git("status", "--porcelain")).toBe("?? later.txt");
  await expect.poll(() => message.inputValue()).toBe("");
  await box.getByRole("button", { name: "Commit 1 file" }).waitFor();
  expect(watch.problems).toEqual([]);
  await context.close();
});
