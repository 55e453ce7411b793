// Signing in: a one-use code in the address becomes a device token, which is kept
// in localStorage and sent as a Bearer token. There are no cookies.

const key = "terret.token";
const listeners = new Set<() => void>();
let memory: string | null = null; // where storage is blocked
let refused = false;

export function getToken(): string | null {
  try {
    return localStorage.getItem(key) ?? memory;
  } catch {
    return memory;
  }
}

export function setToken(token: string | null): void {
  memory = token;
  if (token) refused = false;
  try {
    if (token) localStorage.setItem(key, token);
    else localStorage.removeItem(key);
  } catch {
    // Storage is blocked: the token lives as long as the page.
  }
  for (const listener of listeners) listener();
}

/** The server no longer takes our token. */
export function signedOut(): void {
  if (!getToken()) return;
  refused = true;
  setToken(null);
}

/** Whether there was a token that the server no longer takes. */
export const wasRefused = () => refused;

export function onTokenChange(listener: () => void): () => void {
  const fromOtherTab = (e: StorageEvent) => {
    if (e.key === key) listener();
  };
  listeners.add(listener);
  window.addEventListener("storage", fromOtherTab);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", fromOtherTab);
  };
}

/** The one-use code in the address. It is taken out of the address at once. */
export function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code) history.replaceState(history.state, "", location.pathname + location.search);
  return code;
}

/** What the list of devices calls this browser. */
export function deviceName(agent: string): string {
  const first = (names: [RegExp, string][]) => names.find(([mark]) => mark.test(agent))?.[1];
  const browser = first([[/Edg\w*\//, "Edge"], [/OPR\//, "Opera"], [/Firefox\/|FxiOS\//, "Firefox"], [/Chrom\w+\/|CriOS\//, "Chrome"], [/Safari\//, "Safari"]]) ?? "Browser";
  const system = first([[/iPhone/, "iPhone"], [/iPad/, "iPad"], [/Android/, "Android"], [/Mac OS X/, "Mac"], [/Windows/, "Windows"], [/CrOS/, "ChromeOS"], [/Linux/, "Linux"]]);
  return system ? `${browser} on ${system}` : browser;
}

export const tooMany = "Too many attempts. Wait a minute and try again.";

export async function exchange(code: string): Promise<void> {
  const response = await fetch("/v1/signin", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    credentials: "omit",
    body: JSON.stringify({ code, device: deviceName(navigator.userAgent) }),
  });
  if (!response.ok) {
    throw new Error(
      response.status === 429
        ? tooMany
        : response.status < 500
        ? "This sign-in link was used before or is too old. Run terret open for a new one, or use a token."
        : `The server answered ${response.status}.`,
    );
  }
  const body = (await response.json()) as { token?: string };
  if (!body.token) throw new Error("The server gave no token.");
  setToken(body.token);
}
