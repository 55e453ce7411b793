import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { live, openTab, world } from "./harness";

const { server, open } = world();

it("single files and hunks are taken back, brought back and kept", async () => {
  const { context, page, watch } = await open();
  const at = (name: string) => join(server.project, name);
  const long = Array.from({ length: 40 }, (_, i) => `line ${i}.\n`).join("");
  writeFileSync(at("long.txt"), long);
  rmSync(at("new.txt"), { force: true });
  const id = await server.session({ policy: "auto-approve" }, "replace line 2. with line two. in long.txt, then replace line 30. with line thirty. in long.txt, then create new.txt containing hi");
  await page.goto(`${server.url}/s/${id}`);
  await live(page);
  await page.locator(".turn-end").waitFor();
  await page.keyboard.press("Alt+c");
  const review = page.getByRole("main", { name: "Changes" });
  const file = (name: string) => review.getByRole("group", { name: `Changes in ${name}` });

  // One hunk goes, the other stays; Undo brings it back.
  await file("long.txt").getByRole("button", { name: /^Revert lines? (1|2)–/ }).click();
  await page.getByText("Reverted a part of long.txt").first().waitFor();
  expect(readFileSync(at("long.txt"), "utf8")).toBe(long.replace("line 30.", "line thirty."));
  await expect.poll(() => file("long.txt").getByText("line two.").count()).toBe(0);
  await page.getByRole("button", { name: "Undo", exact: true }).last().click();
  await page.getByText("Brought back a part of long.txt").first().waitFor();
  expect(readFileSync(at("long.txt"), "utf8")).toContain("line two.");

  // A file that somebody changed meanwhile is left alone, and the view shows it.
  await file("long.txt").getByText("line two.").waitFor();
  writeFileSync(at("long.txt"), long.replace("line 2.", "mine"));
  await file("long.txt").getByRole("button", { name: "Revert long.txt" }).click();
  await page.getByText("has changed since you looked at it, so nothing was touched").first().waitFor();
  expect(readFileSync(at("long.txt"), "utf8")).toContain("mine");
  await file("long.txt").getByText("mine").waitFor();

  // A file that was made is removed.
  await file("new.txt").getByRole("button", { name: "Revert new.txt" }).click();
  await page.getByText("Reverted new.txt").first().waitFor();
  expect(() => readFileSync(at("new.txt"))).toThrow();
  await expect.poll(() => file("new.txt").count()).toBe(0);

  // What is kept is put away until it changes again, also after a reload.
  await file("long.txt").getByRole("button", { name: "Keep long.txt" }).click();
  await review.getByText("You have looked at everything.").waitFor();
  await page.reload();
  await live(page);
  await page.keyboard.press("Alt+c");
  await review.getByText("You have looked at everything.").waitFor();
  await review.getByRole("button", { name: "Kept 1 file" }).click();
  await file("long.txt").waitFor();
  writeFileSync(at("long.txt"), long.replace("line 2.", "mine").replace("line 30.", "line XXX."));
  await page.reload();
  await live(page);
  await page.keyboard.press("Alt+c");
  await file("long.txt").getByText("line XXX.").waitFor();
  await file("long.txt").getByRole("button", { name: /^Keep lines? (1|2)–/ }).click();
  await expect.poll(() => file("long.txt").getByText("mine").count()).toBe(0);
  await file("long.txt").getByText("line XXX.").waitFor();
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("the pane shows names of files in full, and a row says once what allowed it", async () => {
  const { context, page } = await open();
  const name = "internal/health/handler_test.go";
  const id = await server.session({ policy: "auto-approve" }, `create ${name} containing hi`);
  await page.goto(`${server.url}/s/${id}`);
  await live(page);
  await page.locator(".turn-end").waitFor();
  expect((await page.locator(".why").first().innerText()).trim()).toBe("The mode Full auto allows whatever no rule denies.");
  await openTab(page, "Changes");
  const shown = page.getByRole("tabpanel", { name: "Changes" }).locator(".diff-head .cut").getByText(name);
  await shown.waitFor();
  expect(await shown.evaluate((el) => el.scrollWidth <= el.clientWidth)).toBe(true);
  await context.close();
});
