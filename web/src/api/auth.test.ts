import { afterEach, expect, it, vi } from "vitest";
import { deviceName, exchange, getToken, setToken, signedOut, wasRefused } from "./auth";

afterEach(() => vi.unstubAllGlobals());

it.each([
  ["Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36", "Chrome on Linux"],
  ["Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/140.0.0.0 Safari/537.36", "Chrome on Linux"],
  ["Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0", "Edge on Windows"],
  ["Mozilla/5.0 (Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0", "Firefox on Android"],
  ["Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1", "Safari on iPhone"],
  ["Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15", "Safari on Mac"],
  ["curl/8.0", "Browser"],
])("%s is called %s", (agent, name) => expect(deviceName(agent)).toBe(name));

it("knows a token that was refused from none", () => {
  signedOut();
  expect(wasRefused()).toBe(false);
  setToken("old");
  signedOut();
  expect([getToken(), wasRefused()]).toEqual([null, true]);
  setToken("new");
  expect(wasRefused()).toBe(false);
});

it.each([
  [401, "was used before or is too old"],
  [429, "Too many attempts. Wait a minute and try again."],
  [502, "The server answered 502."],
])("says what a %s to a sign-in link means", async (status, words) => {
  vi.stubGlobal("navigator", { userAgent: "" });
  vi.stubGlobal("fetch", async () => new Response("", { status }));
  await expect(exchange("code")).rejects.toThrow(words);
});
