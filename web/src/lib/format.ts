// Numbers, times and names as people read them.

export function duration(ms: number): string {
  if (ms < 50) return "<0.1 s";
  if (ms < 950) return `${(ms / 1000).toFixed(1)} s`;
  const s = Math.round(ms / 1000);
  if (s < 60) return `${s} s`;
  const m = Math.floor(s / 60);
  return m < 60 ? both(m, "min", s % 60, "s") : both(Math.floor(m / 60), "h", m % 60, "min");
}

const both = (n: number, unit: string, rest: number, smaller: string) => `${n} ${unit}${rest ? ` ${rest} ${smaller}` : ""}`;

export function tokens(n: number): string {
  if (n < 1000) return String(n);
  if (n < 1_000_000) return `${(n / 1000).toFixed(n < 10_000 ? 1 : 0)} k`;
  return `${(n / 1_000_000).toFixed(1)} M`;
}

export function dollars(n: number): string {
  if (n === 0) return "$0";
  return n < 0.01 ? "<$0.01" : `$${n.toFixed(2)}`;
}

/** Money on an axis whose marks are that far apart, so that no two read the same. */
export const dollarMark = (n: number, step: number) => `$${n.toFixed(Math.max(step >= 1 && Number.isInteger(step) ? 0 : 2, Math.min(6, Math.ceil(-Math.log10(step) - 1e-9))))}`;

export function percent(part: number): string {
  if (part <= 0) return "0 %";
  return part < 0.01 ? "<1 %" : `${Math.round(100 * part)} %`;
}

export const totalTokens = (u: { input: number; output: number; cache_read: number; cache_write: number }) =>
  u.input + u.output + u.cache_read + u.cache_write;

/** Minutes and seconds that are left. */
export function countdown(ms: number): string {
  const s = Math.max(0, Math.ceil(ms / 1000));
  return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}`;
}

/** How long something has been going on. */
export function stopwatch(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  return s < 60 ? `${s} s` : s < 3600 ? `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}` : `${Math.floor(s / 3600)} h ${Math.floor(s / 60) % 60} min`;
}

export const clock = (time: string) =>
  new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });

/** How long ago, in a sentence. */
export function since(time: string, now = Date.now()): string {
  const text = ago(time, now);
  return text === "now" ? "just now" : text.endsWith(" d") ? `${plural(Number.parseInt(text, 10), "day")} ago` : `${text} ago`;
}

export function ago(time: string, now = Date.now()): string {
  const s = Math.max(0, (now - Date.parse(time)) / 1000);
  if (s < 60) return "now";
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86_400)} d`;
}

/** The last part of a path, for either kind of slash. */
export const baseName = (path: string) => path.split(/[/\\]/).filter(Boolean).at(-1) ?? path;

/** A path as seen from a folder. */
export function relative(path: string, cwd: string): string {
  const base = cwd.endsWith("/") ? cwd : `${cwd}/`;
  return cwd && path.startsWith(base) ? path.slice(base.length) : path;
}

export const plural = (n: number, one: string, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

export const sentence = (s: string) => s.charAt(0).toUpperCase() + s.slice(1);
