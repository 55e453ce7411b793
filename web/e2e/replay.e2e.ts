import { expect, it } from "vitest";
import { live, world } from "./harness";

const { server, open } = world({ script: { turns: [[{ fail: { kind: "internal", message: "The model is away." } }]] } });

it("a turn that failed offers the command that does it without us, where there is one", async () => {
  const { context, page, watch } = await open({ permissions: ["clipboard-read", "clipboard-write"] });
  const id = await server.session({ agent: "mock" }, "go");
  await page.goto(`${server.url}/s/${id}`);
  await live(page);
  await page.getByText("The model is away.").first().waitFor();
  expect(await page.getByRole("button", { name: "Copy the command" }).count()).toBe(0);

  const command = "claude -p go --output-format=stream-json --verbose";
  await page.route("**/replay", (route) => route.fulfill({ json: { command } }));
  await page.reload();
  await live(page);
  await page.getByRole("button", { name: "Copy the command" }).click();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(command);
  expect(watch.problems).toEqual([]);
  await context.close();
});
