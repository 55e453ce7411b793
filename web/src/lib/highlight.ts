// Syntax colours. Everything here is loaded when the first code is shown, and each
// language when it is first used.

import { createCssVariablesTheme, createHighlighterCore, type HighlighterCore, type LanguageInput } from "shiki/core";
import { createJavaScriptRegexEngine } from "shiki/engine/javascript";

const languages: Record<string, () => Promise<unknown>> = {
  bash: () => import("@shikijs/langs/bash"),
  c: () => import("@shikijs/langs/c"),
  css: () => import("@shikijs/langs/css"),
  diff: () => import("@shikijs/langs/diff"),
  dockerfile: () => import("@shikijs/langs/dockerfile"),
  go: () => import("@shikijs/langs/go"),
  html: () => import("@shikijs/langs/html"),
  json: () => import("@shikijs/langs/json"),
  make: () => import("@shikijs/langs/make"),
  markdown: () => import("@shikijs/langs/markdown"),
  python: () => import("@shikijs/langs/python"),
  rust: () => import("@shikijs/langs/rust"),
  sql: () => import("@shikijs/langs/sql"),
  toml: () => import("@shikijs/langs/toml"),
  tsx: () => import("@shikijs/langs/tsx"),
  typescript: () => import("@shikijs/langs/typescript"),
  yaml: () => import("@shikijs/langs/yaml"),
};

const aliases: Record<string, string> = {
  sh: "bash", shell: "bash", zsh: "bash", console: "bash", h: "c", cc: "c", cpp: "c", hpp: "c", "c++": "c", patch: "diff", docker: "dockerfile",
  golang: "go", htm: "html", js: "typescript", mjs: "typescript", cjs: "typescript", javascript: "typescript", jsx: "tsx", jsonc: "json", makefile: "make", mk: "make",
  md: "markdown", py: "python", rs: "rust", ts: "typescript", mts: "typescript", yml: "yaml", svg: "html", xml: "html",
};

const theme = createCssVariablesTheme({ name: "tokens", variablePrefix: "--shiki-", fontStyle: false });

let core: Promise<HighlighterCore> | undefined;
const loaded = new Map<string, Promise<void>>();

export type Tokens = { text: string; color?: string }[][];

const known = (language: string) => {
  const name = aliases[language.toLowerCase()] ?? language.toLowerCase();
  return name in languages ? name : undefined;
};

/** The language of a file, by its name. */
export function languageOf(path: string): string {
  const name = path.split("/").at(-1) ?? "";
  return known(name) ?? known(name.split(".").at(-1) ?? "") ?? "";
}

async function ready(name: string): Promise<HighlighterCore> {
  core ??= createHighlighterCore({ themes: [theme], langs: [], engine: createJavaScriptRegexEngine({ forgiving: true }) });
  const highlighter = await core;
  let language = loaded.get(name);
  if (!language) {
    language = highlighter.loadLanguage(languages[name] as LanguageInput);
    loaded.set(name, language);
  }
  await language;
  return highlighter;
}

const tokensOf = (highlighter: HighlighterCore, code: string, lang: string): Tokens =>
  highlighter
    .codeToTokensBase(code, { lang, theme: "tokens" })
    .map((line) => line.map((t) => ({ text: t.content, ...(t.color ? { color: t.color } : {}) })));

/** Colours the code; null where the language is not known. */
export async function highlight(code: string, language: string): Promise<Tokens | null> {
  const name = known(language);
  return name ? tokensOf(await ready(name), code, name) : null;
}

/** A function that colours code in that language without waiting. */
export async function highlighterOf(language: string): Promise<((code: string) => Tokens) | null> {
  const name = known(language);
  if (!name) return null;
  const highlighter = await ready(name);
  return (code) => tokensOf(highlighter, code, name);
}
