import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { launchFirefox } from "./firefox";
import { inFirefox, live, openTab, signedIn, world } from "./harness";

const wide = "a-word-without-an-end-".repeat(20);
const text = `## What I found

| file | lines | what |
|---|---|---|
| \`cart.go\` | 12 | ${wide} |

- [x] read it
- [ ] change it

\`\`\`go
func main() { fmt.Println("${wide}") } // a long line
\`\`\`

> ${wide}
`;
const { server, open } = world({
  script: {
    turns: [[
      { tool: { name: "Bash", class: "execute", input: { command: `echo ${wide}` }, result: `${wide}\n` } },
      { event: { kind: "message.complete", data: { message_id: "m1", role: "assistant", blocks: [{ type: "text", text }] } } },
      { tool: { name: "Bash", class: "execute", input: { command: `echo ${wide}` }, ask: true } },
    ]],
  },
});

/** How light the page is drawn, from 0 to 255. */
function lightness(): number {
  const canvas = document.createElement("canvas").getContext("2d")!;
  canvas.fillStyle = getComputedStyle(document.body).backgroundColor;
  canvas.fillRect(0, 0, 1, 1);
  return Math.max(...canvas.getImageData(0, 0, 1, 1).data.slice(0, 3));
}

/** SHOTS names a folder for pictures of what was looked at. */
const shots = process.env.SHOTS;
if (shots) mkdirSync(shots, { recursive: true });

describe.each(["light", "dark"] as const)("in %s colours", (colorScheme) => {
  it("every page opens without an error and fits every width", async () => {
    const said = await server.session({ agent: "mock", title: wide }, wide);
    const changed = await server.session({ title: "the cart", policy: "auto-approve" }, `create ${colorScheme}.go containing package cart, then create ${colorScheme}-${wide.slice(0, 190)}.txt containing ${wide}`);
    await server.ended(changed);
    // Playwright cannot tell a stock Firefox which colours the system has.
    const own = inFirefox ? await launchFirefox({ "layout.css.prefers-color-scheme.content-override": colorScheme === "dark" ? 0 : 1 }) : undefined;
    onTestFinished(() => own?.close());
    const { context, page, watch } = await (own ? signedIn(own, server) : open({ colorScheme }));
    await live(page);
    expect(await page.evaluate(lightness)).toSatisfy((l: number) => (colorScheme === "dark" ? l < 90 : l > 200));

    const main = page.getByRole("main").first();
    const pages: [string, () => Promise<unknown>][] = [
      ["/", () => main.getByRole("heading", { name: "Needs you" }).waitFor()],
      ["/settings", () => main.getByRole("region", { name: "Devices and tokens" }).waitFor()],
      ["/rules", () => main.getByRole("heading", { name: "Rules" }).first().waitFor()],
      ["/usage", () => main.locator("canvas").waitFor()],
      ["/agents", () => main.getByRole("heading", { name: "What each can do" }).waitFor()],
      ["/fleet", () => main.getByText("There is no fleet").waitFor()],
      ["/personas", () => main.getByRole("heading").first().waitFor()],
      ["/team", () => main.getByText("Nobody is in the team yet").waitFor()],
      ["/workflows", () => main.getByText("No runs yet").waitFor()],
      ["/reviews", () => main.getByText("No reviews yet").waitFor()],
      ["/races", () => main.getByText("No races yet").waitFor()],
      [`/s/${said}`, () => Promise.all([page.locator("[data-request]").waitFor(), page.locator(".said table").waitFor(), page.locator(".said pre span[style]").first().waitFor()])],
      [`/s/${changed}`, () => page.locator(".turn-end").waitFor()],
    ];
    const fits = async (what: string) => {
      for (const width of [390, 800, 1024, 1440]) {
        await page.setViewportSize({ width, height: 900 });
        await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth), { message: `${what} at ${width}` }).toBeLessThanOrEqual(0);
        expect(await page.locator(".home-need-title > *").evaluateAll((all) => all.filter((e) => e.getBoundingClientRect().height > 26).map((e) => e.textContent)), `one line at ${width}`).toEqual([]);
        if (shots && (width === 390 || width === 1440)) await page.screenshot({ path: join(shots, `${colorScheme}-${width}-${what.replaceAll("/", "_").slice(0, 12)}.png`) });
      }
    };
    for (const [path, ready] of pages) {
      await page.evaluate((path) => {
        history.pushState(null, "", path);
        window.dispatchEvent(new PopStateEvent("popstate"));
      }, path);
      await ready();
      await fits(path);
    }
    await openTab(page, "Changes");
    await page.getByRole("tabpanel").getByRole("group", { name: `Changes in ${colorScheme}.go` }).locator(".diff").waitFor();
    await fits("changes");
    await page.keyboard.press("Alt+c");
    await page.getByRole("main", { name: "Changes" }).locator(".diff").first().waitFor();
    await fits("review");
    if (!shots) expect(watch.problems).toEqual([]); // a picture of Firefox needs a style that the policy forbids
    await context.close();
  });
});
