import { expect, it } from "vitest";
import { installed, live, world } from "./harness";

// The real Claude Code with a scripted model that presents a plan.
const { server, open } = world({
  model: `
steps:
  - match: {user: plan a farewell}
    answer: {tools: [{name: ExitPlanMode, input: {plan: Say goodbye.}}]}
  - match: {tool_result: /./}
    answer: {text: Goodbye.}
`,
});

it.skipIf(!installed("claude"))("Plan puts the real Claude Code into plan mode, and its plan is a card", async () => {
  const { page, watch, context } = await open();
  const id = await server.session({ agent: "claude", policy: "ask" });
  await page.goto(`${server.url}/s/${id}`);
  await live(page);
  const message = page.getByRole("textbox", { name: "Message" });
  const mode = page.getByRole("combobox", { name: "Mode", exact: true });
  const chosen = () => mode.evaluate((e: HTMLSelectElement) => e.selectedOptions[0]!.text);
  await message.focus();
  for (const word of ["Auto-edit", "Plan"]) {
    await page.keyboard.press("Shift+Tab");
    await expect.poll(chosen).toBe(word);
  }
  await message.fill("plan a farewell");
  await message.press("Enter");
  const request = page.locator("[data-request]");
  await request.getByText("Claude Code has a plan").waitFor();
  await request.getByRole("button", { name: /Approve/ }).click();
  await page.locator("p", { hasText: "Goodbye." }).waitFor();
  await page.locator(".turn-end").waitFor();
  await expect.poll(chosen).toBe("Ask");
  expect(watch.problems).toEqual([]);
  await context.close();
});
