import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { live, openTab, world } from "./harness";

const { server, open } = world();
const sh = (script: string, cwd = server.project) => execFileSync("sh", ["-ec", script], { cwd, encoding: "utf8", env: { ...process.env, HOME: server.home, GIT_CONFIG_NOSYSTEM: "1" } }).trim();
const shots = process.env.E2E_SHOTS ?? "";

it("a task goes from a worktree of its own to the remote and into its base", async () => {
  const { context, page, watch } = await open();
  sh(`rm -rf .git; git init -q -b main; git config user.name Ada; git config user.email ada@example.org
    echo one > a.txt; git add .; git commit -qm one
    rm -rf ../remote.git; git init -q --bare ../remote.git; git remote add origin "$PWD/../remote.git"; git push -q origin main`);
  mkdirSync(join(server.project, ".git", "hooks"), { recursive: true });
  writeFileSync(join(server.project, ".git", "hooks", "commit-msg"), "#!/bin/sh\necho 'Checked: yes' >> \"$1\"\n");
  chmodSync(join(server.project, ".git", "hooks", "commit-msg"), 0o755);
  const shot = async (name: string) => { if (shots) await page.screenshot({ path: join(shots, `${name}.png`) }); };

  // The person's own hooks run only in a folder that is trusted.
  const { hash } = (await server.api<{ hash: string }>("GET", `/v1/trust?cwd=${encodeURIComponent(server.project)}`)).body;
  expect((await server.api("POST", "/v1/trust", { cwd: server.project, hash, trusted: true })).status).toBeLessThan(300);
  await server.session({ agent: "native" }); // so that the project is listed
  await page.reload();
  const form = page.getByRole("form", { name: "New session" });
  const task = form.getByRole("textbox");
  await task.fill("create cart.txt containing eggs");
  await task.press("Alt+w");
  await form.getByRole("combobox", { name: "Where" }).getByText("New worktree · create-cart-txt-containing-eggs").waitFor({ state: "attached" });
  await form.getByRole("combobox", { name: "Mode" }).selectOption("accept-edits");
  await shot("home");
  await task.press("Enter");
  await live(page);
  await page.waitForURL(/\/s\//);
  await page.getByText("⎇ create-cart-txt-containing-eggs").waitFor();
  await openTab(page, "Changes");
  const commit = page.getByRole("form", { name: "Commit" });
  await commit.getByRole("checkbox", { name: "Run commit-msg" }).waitFor();
  await shot("changes");
  await commit.getByRole("textbox").fill("Add a cart");
  await commit.getByRole("button", { name: "Commit 1 file" }).click();
  await page.getByText(/^Committed 1 file/).first().waitFor();

  const box = page.getByRole("region", { name: "Branch" });
  await box.getByRole("button", { name: "Push to origin/create-cart-txt-containing-eggs" }).click();
  await page.getByText("Pushed create-cart-txt-containing-eggs to origin").first().waitFor();
  expect(sh("git log -1 --format=%B create-cart-txt-containing-eggs", join(server.project, "..", "remote.git"))).toBe("Add a cart\nChecked: yes");
  await shot("pushed");
  expect(existsSync(join(server.project, "cart.txt"))).toBe(false);
  await box.getByRole("button", { name: "Merge into main" }).click();
  await page.getByText("Merged into main").first().waitFor();
  expect(readFileSync(join(server.project, "cart.txt"), "utf8").trim()).toBe("eggs");
  await box.getByRole("button", { name: "Discard…" }).click();
  await shot("discard");
  await box.getByRole("button", { name: "Discard", exact: true }).click();
  await page.getByText("somebody has deleted it").waitFor();
  expect(sh("git branch --list")).toBe("* main");

  // The folder remembers where the next one goes.
  await page.goto(server.url);
  await expect.poll(() => form.getByRole("combobox", { name: "Where" }).inputValue()).toBe("tree");
  expect(watch.problems).toEqual([]);
  await context.close();
});
