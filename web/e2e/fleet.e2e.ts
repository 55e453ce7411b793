import { expect, it } from "vitest";
import { live, world } from "./harness";

const { server, open } = world();

const nodes = (now: number, owner: string) => [
  { name: "build-1", worker: owner, host: "build-1.example", pid: 10, version: "v1.2.0", labels: ["gpu", "eu"], max: 20, roots: ["/srv/work"], started_at: new Date(now - 7_200_000).toISOString(), seen_at: new Date(now).toISOString(), sessions: 19, owned: 1, working: 3 },
  { name: "build-2", worker: "w2", host: "build-2.example", pid: 11, version: "v1.1.0", draining: true, started_at: new Date(now - 60_000).toISOString(), seen_at: new Date(now - 90_000).toISOString(), sessions: 4, owned: 0, working: 1 },
];

it("a fleet has a page: nodes, versions, load, who owns what, and what is wrong", async () => {
  const id = await server.session({ title: "greeting in Go", policy: "auto-approve" }, "list files");
  await expect.poll(async () => (await server.api<{ owner?: string }>("GET", `/v1/sessions/${id}`)).body.owner).toBeTruthy();
  const owner = (await server.api<{ owner: string }>("GET", `/v1/sessions/${id}`)).body.owner;
  const { context, page, watch } = await open();
  let answer: unknown = { node: "build-1", nodes: nodes(Date.now(), owner), database_ms: 2.4 };
  await page.route("**/v1/fleet", (route) => (answer ? route.fulfill({ json: answer }) : route.fulfill({ status: 503, contentType: "application/problem+json", json: { type: "internal", title: "Unavailable", status: 503, detail: "the database does not answer" } })));
  await page.goto(server.url);
  await live(page);
  await page.getByRole("navigation", { name: "Sessions" }).getByRole("link", { name: "Fleet" }).click();
  const main = page.getByRole("main");
  await main.getByRole("heading", { name: "Fleet" }).waitFor();
  await main.getByRole("status").getByText("v1.1.0, v1.2.0").waitFor();
  const [one, two] = [main.getByRole("listitem").filter({ hasText: "build-1.example" }), main.getByRole("listitem").filter({ hasText: "build-2.example" })];
  await one.getByText("3 working, 19 sessions of at most 20").waitFor();
  for (const text of ["this server", "gpu", "/srv/work"]) await one.getByText(text, { exact: true }).waitFor();
  await two.getByText("draining", { exact: true }).waitFor();
  await main.getByText("2 ms", { exact: true }).waitFor();
  await two.getByText(/no sign of life for \d+ min/).waitFor();
  await one.getByRole("button", { name: "Show 1 session that it owns" }).click();
  await one.getByRole("link", { name: "greeting in Go" }).click();
  await page.waitForURL(`**/s/${id}`);
  // What there is to say when there is nothing, or no answer.
  answer = { nodes: [], database_ms: 0 };
  await page.goto(`${server.url}/fleet`);
  await main.getByText("There is no fleet").waitFor();
  answer = { node: "build-1", nodes: [], database_ms: 1 };
  await page.reload();
  await main.getByText("This server has lost its lease").waitFor();
  answer = undefined;
  await page.reload();
  await main.getByRole("alert").getByText("the database does not answer").waitFor();
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("a session moves to another node", async () => {
  const id = await server.session({ title: "to be moved" }, "hello");
  const successor = await server.session({ title: "continued elsewhere" });
  const { context, page, watch } = await open();
  const answer = { node: "build-1", nodes: [...nodes(Date.now(), "w1"), { ...nodes(Date.now(), "w3")[0], name: "build-3", sessions: 1 }], database_ms: 1 };
  const sent: unknown[] = [];
  let refused = true;
  await page.route("**/v1/fleet", (route) => route.fulfill({ json: answer }));
  await page.route("**/handoff", async (route) => {
    sent.push(route.request().postDataJSON());
    if (refused) return route.fulfill({ status: 409, contentType: "application/problem+json", json: { type: "conflict", title: "Conflict", status: 409, detail: "the session was not started from a git repository" } });
    return route.fulfill({ status: 201, json: { ...(await server.api<object>("GET", `/v1/sessions/${successor}`)).body, notes: [] } });
  });
  await page.goto(`${server.url}/s/${id}`);
  await live(page);
  await page.getByRole("button", { name: "Session actions" }).click();
  await page.getByRole("menuitem", { name: "Move to another node…" }).click();
  const dialog = page.getByRole("dialog", { name: "Move to another node" });
  const to = dialog.getByRole("combobox", { name: "To" });
  await to.waitFor();
  // Neither this node, nor one that drains.
  expect(await to.getByRole("option").allTextContents()).toEqual(["The node with the fewest sessions", "build-3 (1 session)"]);
  await to.selectOption("build-3");
  await dialog.getByRole("button", { name: "Move" }).click();
  await page.getByText("the session was not started from a git repository").first().waitFor();
  await dialog.getByLabel("What should it do next?").fill("run the tests");
  refused = false;
  await dialog.getByRole("button", { name: "Move" }).click();
  await page.waitForURL(`**/s/${successor}`);
  await dialog.waitFor({ state: "hidden" });
  expect(sent).toEqual([{ node: "build-3", idle: true }, { node: "build-3", prompt: "run the tests" }]);
  expect(watch.problems.filter((p) => !p.includes("409"))).toEqual([]);
  await context.close();
});

it("a single machine has no fleet in its navigation", async () => {
  const { context, page, watch } = await open();
  await page.goto(`${server.url}/fleet`); // the real answer
  await page.getByRole("main").getByText("There is no fleet").waitFor();
  const links = page.getByRole("navigation", { name: "Sessions" });
  await links.getByRole("link", { name: "Settings" }).waitFor();
  expect(await links.getByRole("link", { name: "Fleet" }).count()).toBe(0);
  await page.goto(`${server.url}/s/${await server.session({ title: "at home" }, "hello")}`);
  await live(page);
  await page.getByRole("button", { name: "Session actions" }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).waitFor();
  expect(await page.getByRole("menuitem", { name: "Move to another node…" }).count()).toBe(0);
  expect(watch.problems).toEqual([]);
  await context.close();
});
