// A server of its own for each test file, and a browser for each worker.
//
// TERRET_BIN names the program (`make web-test` builds it), CHROMIUM and FIREFOX the browsers.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, beforeEach, expect } from "vitest";
import { launchFirefox } from "./firefox";
import { removeFolder } from "./remove";

const binary = process.env.TERRET_BIN ?? "../bin/terret";
const browserPath = process.env.CHROMIUM ?? "/usr/bin/chromium";

export interface Options {
  /** A script for the mock agent. */
  script?: unknown;
  /** The server also finds programs in the folder `bin`. */
  programs?: boolean;
  /** A scenario for the model behind the real agents, by default Claude Code; {{dir}} is the project. */
  model?: string;
  agent?: "claude" | "opencode" | "codex";
}

/** Where `make conformance` installs the real agents. */
export const programs = resolve("../agents/node_modules/.bin");

/** Whether the real agent is here, as `make conformance` installs it. In CI it must be. */
export function installed(agent: string): boolean {
  const there = existsSync(join(programs, agent));
  if (!there && process.env.CI) throw new Error(`${agent} is not installed: run agents/install.sh first`);
  return there;
}

/** A terret serve that can be killed and started again at the same address. */
export class Server {
  private process: ChildProcess | undefined;
  private sim: ChildProcess | undefined;
  readonly dir = mkdtempSync(join(tmpdir(), "terret-e2e-"));
  readonly home = join(this.dir, "home");
  readonly bin = join(this.dir, "bin");
  readonly project = join(this.dir, "work", "api-server");
  url = "";
  private code = "";

  constructor(private readonly options: Options = {}) {
    this.furnish();
  }

  private furnish(): void {
    mkdirSync(this.home, { recursive: true, mode: 0o700 });
    mkdirSync(this.project, { recursive: true });
    mkdirSync(this.bin, { recursive: true });
    if (this.options.script) writeFileSync(join(this.dir, "script.json"), JSON.stringify(this.options.script));
  }

  /** Starts over with empty folders at the same paths. */
  async renew(): Promise<void> {
    await this.remove();
    this.furnish();
    this.url = "";
    await this.start();
  }

  async start(): Promise<void> {
    const addr = this.url ? new URL(this.url).host : "127.0.0.1:0";
    const env: NodeJS.ProcessEnv = { PATH: process.env.PATH, HOME: this.dir, TERRET_HOME: this.home, TERRET_MODEL: "demo", LANG: "C.UTF-8" };
    if (this.options.programs) env.PATH = this.bin + delimiter + env.PATH;
    if (this.options.script) env.TERRET_MOCK_SCRIPT = join(this.dir, "script.json");
    if (this.options.model) {
      env.PATH = programs + delimiter + env.PATH;
      env.TERRET_MODEL = "";
      Object.assign(env, this.tellAgent(await this.serveModel(this.options.model)));
    }
    const child = spawn(binary, ["serve", "--addr", addr, "--root", join(this.dir, "work")], { env, cwd: this.project });
    this.process = child;
    let out = "";
    let err = "";
    child.stderr.on("data", (d) => (err += d));
    await new Promise<void>((resolve, reject) => {
      const look = () => {
        const listening = /listening on (\S+)/.exec(out);
        const link = /#code=(\S+)/.exec(err);
        if (!listening || !link) return;
        this.url = listening[1]!;
        this.code = link[1]!;
        resolve();
      };
      child.stdout.on("data", (d) => { out += d; look(); });
      child.stderr.on("data", look);
      child.on("error", reject);
      child.on("exit", (code) => reject(new Error(`terret serve ended with ${code}: ${err}`)));
    });
  }

  /** Tells the agent where its model is, and returns what it needs in its environment. */
  private tellAgent(url: string): NodeJS.ProcessEnv {
    switch (this.options.agent ?? "claude") {
      case "claude":
        return { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "not-a-key", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" };
      case "opencode": {
        // It would install packages for plugins in the background, and fetch a list of models.
        writeFileSync(join(this.dir, ".npmrc"), "registry=http://127.0.0.1:9/\nfetch-retries=0\n");
        const anthropic = { options: { baseURL: `${url}/v1`, apiKey: "not-a-key" } };
        const model = "anthropic/claude-sonnet-4-5";
        return {
          OPENCODE_CONFIG_CONTENT: JSON.stringify({ provider: { anthropic }, model, small_model: model, enabled_providers: ["anthropic"], share: "disabled", autoupdate: false }),
          OPENCODE_MODELS_PATH: resolve("../internal/test/agenttest/models.json"),
          OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_LSP_DOWNLOAD: "1", OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
        };
      }
      case "codex":
        mkdirSync(join(this.dir, ".codex"), { recursive: true });
        writeFileSync(join(this.dir, ".codex", "config.toml"), `
model = "gpt-5.5"
model_provider = "fake"
check_for_update_on_startup = false
[model_providers.fake]
name = "fake"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
[analytics]
enabled = false
`);
        return { OPENAI_API_KEY: "not-a-key" };
    }
  }

  /** Serves the scripted model, and returns its address. */
  private async serveModel(scenario: string): Promise<string> {
    const file = join(this.dir, "model.yaml");
    writeFileSync(file, scenario);
    const child = spawn(binary, ["sim", "--var", `dir=${this.project}`, file], { env: { PATH: process.env.PATH, HOME: this.dir, TERRET_HOME: this.home } });
    this.sim = child;
    return new Promise((done, failed) => {
      let out = "";
      child.stdout.on("data", (d) => {
        const at = /listening on (\S+)/.exec((out += d));
        if (at) done(at[1]!);
      });
      child.on("error", failed);
      child.on("exit", (code) => failed(new Error(`terret sim ended with ${code}`)));
    });
  }

  /** Ends the server, by default as a crash would. */
  async stop(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const child = this.process;
    this.process = undefined;
    if (!child || child.exitCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await gone;
  }

  async remove(): Promise<void> {
    await this.stop();
    this.sim?.kill();
    await removeFolder(this.dir); // agents end just after their server
  }

  get signIn(): string {
    return `${this.url}/#code=${this.code}`;
  }

  token(): string {
    return readFileSync(join(this.home, "token"), "utf8").trim();
  }

  async api<T>(method: string, path: string, body?: unknown): Promise<{ status: number; body: T }> {
    const response = await fetch(this.url + path, {
      method,
      headers: { Authorization: `Bearer ${this.token()}`, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: (text ? JSON.parse(text) : undefined) as T };
  }

  /** Makes a session, and prompts it if there is something to say. */
  async session(options: Record<string, unknown>, prompt?: string): Promise<string> {
    const { body, status } = await this.api<{ id: string; detail?: string }>("POST", "/v1/sessions", { cwd: this.project, ...options });
    expect(status, body.detail).toBe(201);
    if (prompt) expect((await this.api("POST", `/v1/sessions/${body.id}/turns`, { prompt })).status).toBe(202);
    return body.id;
  }

  /** Waits until so many turns of a session are over; its state alone may be that of before the prompt. */
  async ended(id: string, turns = 1): Promise<void> {
    const over = async () => (await this.api<{ items: { state: string }[] }>("GET", `/v1/sessions/${id}/turns`)).body.items.filter((t) => !/^(queued|running)$/.test(t.state)).length;
    await expect.poll(over).toBeGreaterThanOrEqual(turns);
    await expect.poll(async () => (await this.api<{ state: string }>("GET", `/v1/sessions/${id}`)).body.state).toBe("idle");
  }
}

/** The browser of this worker, which all its test files use one after the other. */
let shared: Browser | undefined;

/**
 * A server for the tests of one file, a browser, and a way to open a signed-in page.
 * A test that is tried again gets new ones, since the first try left something behind;
 * so no test may need what another one did. `prepare` runs on each new server.
 */
export function world(options: Options = {}, prepare?: (server: Server) => unknown) {
  const server = new Server(options);
  let ready = false;
  beforeEach(async ({ task }) => {
    if (ready && !task.result?.retryCount) return;
    if (task.result?.retryCount || !shared?.isConnected()) {
      await shared?.close();
      shared = undefined;
    }
    await server.renew();
    await prepare?.(server);
    shared ??= await launch();
    ready = true;
  });
  afterAll(async () => {
    await Promise.all((shared?.contexts() ?? []).map((c) => c.close()));
    await server.remove();
  });
  return { server, browser: () => shared!, open: (options?: BrowserContextOptions) => signedIn(shared!, server, options) };
}

/** Set by `npm run e2e:firefox`. */
export const inFirefox = process.env.E2E_BROWSER === "firefox";

export const launch = (): Promise<Browser> =>
  inFirefox ? launchFirefox() : chromium.launch({ executablePath: browserPath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });

/** Things that must not happen on any page: errors, broken policy, foreign hosts. */
export class Watch {
  readonly problems: string[] = [];
  streams = 0;

  constructor(context: BrowserContext, private readonly origin: () => string) {
    context.on("request", (r) => {
      const url = new URL(r.url());
      if (url.protocol.startsWith("http") && url.origin !== this.origin()) this.problems.push(`asked ${r.url()}`);
      if (url.pathname === "/v1/events") this.streams++;
    });
    context.on("page", (page) => this.page(page));
  }

  private page(page: Page): void {
    page.on("pageerror", (e) => this.problems.push(`error: ${e.message}`));
    page.on("dialog", (d) => { this.problems.push(`dialog: ${d.message()}`); void d.dismiss(); });
    page.on("console", (m) => {
      if (m.type() === "error" && !/Failed to load resource|net::ERR_/.test(m.text())) this.problems.push(`console: ${m.text()}`);
    });
  }
}

export async function signedIn(browser: Browser, server: Server, options: BrowserContextOptions = {}): Promise<{ context: BrowserContext; page: Page; watch: Watch }> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, serviceWorkers: "block", ...options });
  context.setDefaultTimeout(Number(process.env.E2E_TIMEOUT ?? 60_000)); // never measured: a busy machine takes its time
  const watch = new Watch(context, () => server.url);
  const page = await context.newPage();
  // Each code works once: further browsers get the token that programs have.
  await page.goto(server.url);
  await page.evaluate((token) => localStorage.setItem("terret.token", token), server.token());
  await page.reload();
  await page.getByRole("navigation").first().waitFor();
  return { context, page, watch };
}

/** Opens a tab of the right pane, and waits until all of it is there. */
export async function openTab(page: Page, name: string): Promise<void> {
  const tab = page.getByRole("tab", { name });
  if ((await tab.count()) === 0) await page.getByRole("button", { name: "Show changes, files and details" }).click();
  await tab.click();
  const panel = page.getByRole("tabpanel", { name });
  await panel.waitFor();
  await panel.locator(".skeleton").first().waitFor({ state: "detached" });
}

/** The name of the button that allows a request once. */
export const allow = /^Allow( ⏎)?$/;

export const live = (page: Page) => page.getByRole("status").filter({ hasText: "live" }).waitFor();
