import { expect, it } from "vitest";
import { live, world } from "./harness";

const { open } = world();

it("a whole day's work without a mouse", async () => {
  const { context, page, watch } = await open();
  const keys = page.keyboard;
  await live(page);
  await page.getByText(/Try one of these/).waitFor();

  await keys.press("Alt+/");
  await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
  await keys.press("Escape");

  await keys.press("Alt+n");
  await page.getByRole("dialog", { name: "New session" }).waitFor();
  await keys.type("create a.txt containing one, then run: sleep 200");
  await keys.press("Enter");
  await page.locator("[data-request]").waitFor();

  // A letter in the message field is a letter; a request takes the keys once it is empty.
  const asked = (words: string) => page.locator("[data-request]:focus", { hasText: words }).waitFor();
  await keys.type("s");
  expect(await page.getByRole("textbox", { name: "Message" }).inputValue()).toBe("s");
  await keys.press("Backspace");
  await asked("a.txt");
  await keys.press("Enter");
  await asked("sleep 200");

  await keys.press("e");
  await page.getByLabel("The command that will run instead").waitFor();
  await keys.press("Escape");
  await keys.press("d");
  await keys.type("too slow");
  await keys.press("Enter");
  await page.locator(".turn-end").waitFor();
  await page.getByText("“too slow”").waitFor();

  await keys.press("Alt+u");
  await page.locator(".turn-end").getByText("undone").waitFor();

  // Undo gives the prompt back: it comes a moment later, and what is typed replaces it.
  await page.waitForFunction(() => document.querySelector<HTMLTextAreaElement>("textarea[aria-label='Message']")?.value !== "");
  await keys.press("Control+a");
  await keys.type("run: sleep 300");
  await keys.press("Enter");
  await asked("sleep 300");
  await keys.press("s"); // nothing safe is suggested for it, so the rule is shown first
  await page.getByLabel("Allow in this session").waitFor();
  await keys.press("Enter");
  await page.locator(".tool .dot.busy").first().waitFor();
  await keys.press("Escape");
  await page.getByText("You stopped it").waitFor();

  await keys.press("Control+k");
  await page.getByRole("dialog", { name: "Commands" }).waitFor();
  await keys.type("usage");
  await keys.press("Enter");
  await page.getByRole("heading", { name: "Usage", exact: true }).waitFor();
  await keys.press("j");
  await page.getByRole("textbox", { name: "Message" }).waitFor();
  await keys.press("Control+f");
  await keys.type("too slow");
  await page.getByText(/1 of \d/).waitFor();
  await keys.press("Escape");
  await keys.press("Alt+]");
  await page.getByRole("tablist").waitFor();
  await keys.press("Alt+]");
  await page.getByRole("tablist").waitFor({ state: "detached" });

  await page.getByRole("textbox", { name: "Message" }).focus();
  await keys.press("ArrowUp");
  await expect.poll(() => page.getByRole("textbox", { name: "Message" }).inputValue()).toBe("run: sleep 300");
  expect(watch.problems).toEqual([]);
  await context.close();
});
