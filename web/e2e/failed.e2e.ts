import { expect, it } from "vitest";
import { installed, world } from "./harness";

const { server, open } = world({ model: "steps:\n  - {repeat: forever, answer: {error: {status: 400, message: This model is for looking only}}}\n" });

it.skipIf(!installed("claude"))("why a turn of the real Claude Code failed is said once", async () => {
  const { page, watch, context } = await open();
  const id = await server.session({ agent: "claude", policy: "ask" }, "look around");
  await page.goto(`${server.url}/s/${id}`);
  await page.getByRole("alert").getByText("This model is for looking only").waitFor();
  expect(await page.getByText("This model is for looking only").count()).toBe(1);
  expect(watch.problems).toEqual([]);
  await context.close();
});
