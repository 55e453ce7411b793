import { expect, it, vi } from "vitest";
import { live, world } from "./harness";

const { server, open } = world();

it("repeated answers become a rule, and decisions say what decided", async () => {
  await server.api("PUT", "/v1/rules", { items: [] });
  const id = await server.session({ policy: "ask" });
  let turns = 0;
  const ask = async (command: string, asked: boolean) => {
    expect((await server.api("POST", `/v1/sessions/${id}/turns`, { prompt: `run: ${command}` })).status).toBe(202);
    if (asked) {
      const request = await vi.waitUntil(async () => (await server.api<{ items: { request_id: string }[] }>("GET", `/v1/decisions?session=${id}`)).body.items[0], { timeout: 60_000 });
      await server.api("POST", `/v1/decisions/${request.request_id}`, { behavior: "allow" });
    }
    await server.ended(id, ++turns);
  };
  for (const dir of ["a", "b", "c"]) await ask(`go vet ./${dir}`, true);

  const { context, page, watch } = await open();
  await page.goto(`${server.url}/rules`);
  const suggested = page.getByRole("region", { name: "Suggested rules" });
  await suggested.getByText("You allowed Bash(go vet *) 3 times by hand.").waitFor();
  const lately = page.getByRole("region", { name: "Decided lately" });
  await expect.poll(() => lately.getByRole("row").count()).toBe(4);
  await lately.getByText("You allowed it").first().waitFor();
  await suggested.getByRole("button", { name: "Always allow Bash(go vet *)" }).click();
  await page.getByRole("group", { name: "Rules" }).getByText("Bash(go vet *)").waitFor();
  await expect.poll(() => suggested.count()).toBe(0);

  await ask("go vet ./d", false);
  await page.reload();
  await lately.getByText("Rule Bash(go vet *) allowed it").waitFor();
  await page.goto(`${server.url}/s/${id}`);
  await live(page);
  await page.getByRole("button", { name: /Bash go vet \.\/c/ }).click();
  await page.getByText("You allowed it.", { exact: true }).waitFor();
  await page.getByRole("button", { name: /Bash go vet \.\/d/ }).click();
  await page.getByText("Rule Bash(go vet *) allowed it.").waitFor();
  await page.getByText("You made it just now. It has decided once.").waitFor();
  expect(watch.problems).toEqual([]);
  await context.close();
});
