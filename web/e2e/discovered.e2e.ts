import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { world } from "./harness";

const { server, open } = world();

it("a session that a person had with Claude Code itself is found and brought here", async () => {
  const id = "9b22a875-d914-4bb3-9700-25e06bf8a274";
  const recorded = readFileSync(join(import.meta.dirname, `../../driver/claude/testdata/config/projects/-home-dev-project/${id}.jsonl`), "utf8");
  const folder = join(server.dir, ".claude", "projects", "-p");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${id}.jsonl`);
  const mine = recorded.replaceAll("/home/dev/project", server.project);
  writeFileSync(file, mine);

  const { page } = await open();
  await page.goto(`${server.url}/agents`);
  await page.getByRole("button", { name: "From other tools" }).click();
  await page.getByText("touch the file").waitFor();
  await page.getByRole("searchbox", { name: "Filter" }).fill("nothing like it");
  await page.getByText("No session matches.").waitFor();
  await page.getByRole("searchbox", { name: "Filter" }).fill("touch");
  await page.getByRole("button", { name: "Bring here" }).click();
  await page.waitForURL(/\/s\//);
  await page.getByText("It is finished again.").first().waitFor();
  await page.getByText("touch made2.txt").first().waitFor();
  expect(readFileSync(file, "utf8")).toBe(mine);
  await page.goto(`${server.url}/discovered`);
  await page.getByRole("link", { name: "Open", exact: true }).waitFor();
  expect(await page.getByRole("button", { name: "Bring here" }).count()).toBe(0);
});
