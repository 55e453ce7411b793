#!/usr/bin/env node
// Starts a stock Firefox for Playwright, which speaks WebDriver BiDi to it through here.
//
// Playwright tells every page its colours with a command that Firefox does not know yet,
// and gives up on the error. Here that one error becomes an empty answer; a Firefox that
// knows the command gets it. FIREFOX names the program.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { WebSocket, WebSocketServer } from "ws";

const optional = "emulation.setMediaFeaturesOverride";

const firefox = spawn(process.env.FIREFOX ?? "firefox-esr", process.argv.slice(2), { stdio: ["ignore", "inherit", "pipe"] });
firefox.on("error", (e) => { console.error(e.message); process.exit(1); });
firefox.on("exit", (code) => process.exit(code ?? 1));

createInterface({ input: firefox.stderr }).on("line", (line) => {
  const at = /WebDriver BiDi listening on (ws:\/\/\S+)/.exec(line);
  if (at) relay(at[1]);
  else console.error(line);
});

/** Passes on what Playwright and Firefox say to each other. */
function relay(address) {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  server.on("listening", () => console.error(`WebDriver BiDi listening on ws://127.0.0.1:${server.address().port}`));
  server.on("connection", (playwright, request) => {
    const browser = new WebSocket(address + request.url);
    const opened = new Promise((done) => browser.once("open", done));
    const asked = new Set();
    playwright.on("message", async (data) => {
      const { id, method } = JSON.parse(data);
      if (method === optional) asked.add(id);
      await opened;
      browser.send(data.toString());
    });
    browser.on("message", (data) => {
      const answer = JSON.parse(data);
      const unknown = asked.delete(answer.id) && answer.error === "unknown command";
      playwright.send(unknown ? JSON.stringify({ type: "success", id: answer.id, result: {} }) : data.toString());
    });
    playwright.on("close", () => browser.close());
    browser.on("close", () => playwright.close());
    browser.on("error", () => playwright.close());
  });
}
