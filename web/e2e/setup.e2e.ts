// Set up without the command line: keys, models, sign-ins, the configuration, agents.

import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server as Http } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, expect, it } from "vitest";
import { world } from "./harness";

const { server, open } = world({ programs: true }, prepare);
const secret = "sk-9e1f-very-secret";
const file = () => join(server.home, "config.jsonc");
let api: Http | undefined;
let address = "";

/** A server with models that wants the key, and an MCP server that wants a sign-in. */
async function prepare(): Promise<void> {
  api?.close();
  const registered = new Map<string, string>();
  api = createServer((request, response) => {
    const url = new URL(request.url ?? "/", address);
    const say = (status: number, body: unknown, headers: Record<string, string> = {}) => response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(body));
    let text = "";
    request.on("data", (d) => (text += d));
    request.on("end", () => {
      switch (url.pathname) {
        case "/v1/models":
          return request.headers.authorization === `Bearer ${secret}` ? say(200, { data: [{ id: "llama-9" }, { id: "llama-10" }] }) : say(401, {});
        case "/mcp": {
          if (request.headers.authorization !== "Bearer secret-access") return say(401, {}, { "WWW-Authenticate": `Bearer resource_metadata="${address}/.well-known/oauth-protected-resource"` });
          const call = text ? (JSON.parse(text) as { id?: number; method: string; params?: { protocolVersion: string } }) : undefined;
          if (call?.id === undefined) return response.writeHead(request.method === "GET" ? 405 : 202).end();
          if (call.method === "initialize") return say(200, { jsonrpc: "2.0", id: call.id, result: { protocolVersion: call.params!.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "bird", version: "1" } } });
          return say(200, { jsonrpc: "2.0", id: call.id, result: { tools: [] } });
        }
        case "/.well-known/oauth-protected-resource":
        case "/.well-known/oauth-protected-resource/mcp":
          return say(200, { resource: `${address}/mcp`, authorization_servers: [address] });
        case "/.well-known/oauth-authorization-server":
          return say(200, {
            issuer: address, authorization_endpoint: `${address}/authorize`, token_endpoint: `${address}/token`, registration_endpoint: `${address}/register`,
            response_types_supported: ["code"], grant_types_supported: ["authorization_code", "refresh_token"], code_challenge_methods_supported: ["S256"], token_endpoint_auth_methods_supported: ["none"],
          });
        case "/register": {
          const client = JSON.parse(text) as Record<string, unknown>;
          registered.set("one", String((client.redirect_uris as string[])[0]));
          return say(201, { ...client, client_id: "one" });
        }
        case "/authorize":
          return response.writeHead(302, { Location: `${url.searchParams.get("redirect_uri")}?code=abc&state=${url.searchParams.get("state")}` }).end();
        case "/token":
          return say(200, { access_token: "secret-access", token_type: "Bearer", expires_in: 3600, refresh_token: "secret-refresh" });
      }
      return say(404, {});
    });
  });
  await new Promise<void>((done) => api!.listen(0, "127.0.0.1", done));
  address = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
  writeFileSync(join(server.bin, "npm"), "", { mode: 0o700 });
}

afterAll(() => { api?.close(); });

const accept = (page: Page) => {
  page.removeAllListeners("dialog"); // the watch dismisses what nobody expects
  page.on("dialog", (d) => void d.accept());
};

it("keeps a key that nobody sees again, adds a server by its address, and sees its models", async () => {
  writeFileSync(file(), "{\n  // mine\n  \"policy\": \"ask\", // safe\n}\n");
  const { context, page, watch } = await open();
  const answers: string[] = [];
  context.on("response", (r) => void r.text().then((text) => answers.push(r.url() + text), () => undefined));
  await page.goto(`${server.url}/settings`);
  await page.getByRole("main").getByRole("link", { name: "set up the server" }).click();
  const models = page.getByRole("region", { name: "Servers with models" });
  const form = models.getByRole("form", { name: "Add a server with models" });
  await form.getByLabel("Name").fill("lab");
  await form.getByLabel("Address").fill("ftp://x");
  await form.getByLabel(/^Variable/).fill("LAB_API_KEY");
  await form.getByRole("button", { name: "Add" }).click();
  await form.getByRole("alert").getByText("not the address of an API").waitFor();
  await form.getByLabel("Address").fill(`${address}/v1`);
  await form.getByRole("button", { name: "Add" }).click();
  await models.getByText("no key yet").last().waitFor();
  await models.getByRole("button", { name: "Models of lab" }).click();
  await models.getByRole("alert").getByText(/no key for lab/).waitFor();

  const kept = page.getByRole("region", { name: "Keys" });
  const key = kept.getByLabel("Key", { exact: true });
  expect(await key.getAttribute("type")).toBe("password");
  expect(await key.getAttribute("autocomplete")).toBe("off");
  await kept.getByLabel("Provider").selectOption("lab");
  await key.fill(secret);
  await kept.getByRole("button", { name: "Keep" }).click();
  await kept.getByRole("button", { name: "Remove the key of lab" }).waitFor();
  expect(await key.inputValue()).toBe("");
  await models.getByRole("list", { name: "Models of lab" }).getByText("lab/llama-10").waitFor();
  const told = (await server.api<{ items: { id: string }[] }>("GET", "/v1/agents/native/models")).body.items.map((m) => m.id);
  expect(told).toContain("lab/llama-9"); // a running server has them at once
  expect(readFileSync(file(), "utf8")).toContain("// mine\n  \"policy\": \"ask\", // safe\n");

  await page.reload();
  await kept.getByRole("button", { name: "Remove the key of lab" }).waitFor();
  expect(await page.content()).not.toContain(secret.slice(0, 8));
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).not.toContain(secret.slice(0, 8));
  accept(page);
  await kept.getByRole("button", { name: "Remove the key of lab" }).click();
  await kept.getByText("No key is kept.").waitFor();
  await models.getByRole("button", { name: "Remove lab" }).click();
  await models.getByRole("button", { name: "Remove lab" }).waitFor({ state: "detached" });
  expect(readFileSync(file(), "utf8")).not.toContain("lab\"");
  expect(answers.filter((a) => a.includes(secret.slice(0, 8)))).toEqual([]);
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("edits the configuration as text, with its comments, and refuses what is wrong or was changed", async () => {
  const before = "{\n  // mine\n  \"providers\": {\"x\": {\"base_url\": \"http://127.0.0.1:1/v1\", \"headers\": {\"X-Key\": \"sk-hidden-header\"}}},\n}\n";
  writeFileSync(file(), before);
  const { context, page, watch } = await open();
  await page.goto(`${server.url}/setup`);
  const region = page.getByRole("region", { name: "Configuration" });
  const text = region.getByRole("textbox", { name: "Configuration file" });
  await expect.poll(() => text.inputValue()).toContain("[hidden 1]");
  expect(await page.content()).not.toContain("sk-hidden");
  const shown = await text.inputValue();
  await text.fill(shown.replace("// mine", "// mine\n  \"polcy\": \"ask\","));
  await region.getByRole("button", { name: "Save" }).click();
  await region.getByRole("alert").getByText('Line 3, column 3: unknown key "polcy"; did you mean "policy"?').waitFor();
  expect(readFileSync(file(), "utf8")).toBe(before);
  await text.fill(shown.replace("// mine", "// mine\n  \"policy\": \"plan\","));
  await region.getByRole("button", { name: "Check" }).click();
  await region.getByText("Nothing is wrong in it.").waitFor();
  await region.getByRole("button", { name: "Save" }).click();
  await region.getByRole("status").getByText("It works with other values of policy").waitFor();
  expect(readFileSync(file(), "utf8")).toBe(before.replace("// mine", "// mine\n  \"policy\": \"plan\","));
  await region.getByText("after a restart").waitFor();

  writeFileSync(file(), "{\"agent\": \"native\"}");
  await text.fill("{}");
  await region.getByRole("button", { name: "Save" }).click();
  await region.getByRole("alert").getByText("has been changed meanwhile").waitFor();
  expect(readFileSync(file(), "utf8")).toBe("{\"agent\": \"native\"}");
  await region.getByRole("button", { name: "Read the file again" }).click();
  await expect.poll(() => text.inputValue()).toBe("{\"agent\": \"native\"}");
  await region.getByRole("button", { name: /^Show all/ }).click();
  await region.getByText("What agents call the product in place of Terret.").waitFor();
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("signs in to an MCP server with a browser of another machine, and out again", async () => {
  const { context, page, watch } = await open();
  await page.goto(`${server.url}/setup`);
  const region = page.getByRole("region", { name: "MCP servers" });
  await region.getByLabel("Address of the server").fill(`${address}/mcp`);
  await region.getByRole("button", { name: "Sign in" }).click();
  const link = await region.getByRole("link", { name: /^Open 127/ }).getAttribute("href");
  const answer = await fetch(link!, { redirect: "manual" });
  await region.getByLabel("Address that could not be opened").fill(answer.headers.get("location")!);
  await region.getByRole("button", { name: "Done" }).click();
  await region.getByText(/You are signed in to/).waitFor();
  await region.getByRole("button", { name: /^Sign out of 127/ }).click();
  await region.getByText("You are not signed in to any MCP server.").waitFor();
  expect(await page.content()).not.toContain("secret-");
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("installs an agent after a yes, shows what is printed, and can be cancelled", async () => {
  const bin = server.bin;
  const npm = (script: string) => writeFileSync(join(bin, "npm"), `#!/bin/sh\n${script}`, { mode: 0o700 });
  npm("echo fetching $3\nsleep 1000\n");
  const { context, page, watch } = await open();
  await page.goto(`${server.url}/setup`);
  const region = page.getByRole("region", { name: "Agents" });
  await region.getByRole("button", { name: "Install Pi…" }).click();
  const dialog = page.getByRole("dialog", { name: "Install Pi?" });
  await dialog.getByText(/^npm install -g @mariozechner\/pi-coding-agent@/).waitFor();
  await dialog.getByRole("button", { name: "Run it" }).click();
  const progress = region.getByRole("group", { name: "Installation" });
  await progress.getByText("fetching @mariozechner/pi-coding-agent@").waitFor();
  expect(await region.getByRole("button", { name: "Install Codex…" }).isDisabled()).toBe(true); // one at a time
  await progress.getByRole("button", { name: "Cancel" }).click();
  await progress.getByText("pi was cancelled").waitFor();

  npm(`printf '#!/bin/sh\\necho 0.73.1\\n' >"${bin}/pi"; chmod +x "${bin}/pi"; echo added 1 package\n`);
  await region.getByRole("button", { name: "Install Pi…" }).click();
  await dialog.getByRole("button", { name: "Run it" }).click();
  await progress.getByText("added 1 package").waitFor();
  await progress.getByText("pi is installed").waitFor();
  await progress.getByText("It answers: 0.73.1 · tested").waitFor();
  await region.getByRole("listitem", { name: "pi" }).getByText("0.73.1 · tested").waitFor();
  expect(watch.problems).toEqual([]);
  await context.close();
});

it("is only for those who may do everything", async () => {
  const made = await server.api<{ token: string }>("POST", "/v1/tokens", { name: "helper", scope: "decide" });
  const { page, context } = await open();
  await page.evaluate((token) => localStorage.setItem("terret.token", token), made.body.token);
  await page.goto(`${server.url}/setup`);
  await page.getByRole("alert").getByText("Only a device that may do everything").waitFor();
  expect(await page.getByRole("region", { name: "Keys" }).count()).toBe(0);
  await context.close();
});
