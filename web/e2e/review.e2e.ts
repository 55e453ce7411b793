import { expect, it } from "vitest";
import { live, world } from "./harness";

const { server, open } = world();

it("changes are reviewed in the whole window, and comments gather into the next message", async () => {
  const { context, page, watch } = await open({ permissions: ["clipboard-read", "clipboard-write"] });
  const id = await server.session({ policy: "auto-approve" }, "create cart.go containing package cart, then create b.txt containing two, then replace cart with basket in cart.go");
  await page.goto(`${server.url}/s/${id}`);
  await live(page);
  await page.locator(".turn-end").waitFor();
  await page.keyboard.press("Alt+c");
  const review = page.getByRole("main", { name: "Changes" });
  await review.getByRole("navigation", { name: "Changed files" }).getByRole("button", { name: /cart.go/ }).click();
  await review.locator(".diff-split").first().waitFor();
  await review.getByRole("button", { name: "Inline" }).click();
  await review.locator(".diff-unified").first().waitFor();
  await review.getByRole("button", { name: "Copy patch" }).click();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toContain("+package basket");

  await review.getByRole("group", { name: "Changes in cart.go" }).locator(".diff-gutter-insert").last().click();
  await review.getByRole("textbox", { name: "Comment" }).fill("Call it trolley.");
  await review.getByRole("button", { name: "Comment", exact: true }).click();
  await review.getByText("1 comment").waitFor();
  await review.getByRole("button", { name: "Add to the message" }).click();
  const message = page.getByRole("textbox", { name: "Message" });
  await expect.poll(() => message.inputValue()).toBe("cart.go:1\n> package basket\nCall it trolley.");
  expect(watch.problems).toEqual([]);
  await context.close();
});
