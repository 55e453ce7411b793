import { sentence } from "../lib/format";

/** What went wrong, without the name of the field that it is about. */
export const wrong = (cause: unknown): string => {
  const text = cause instanceof Error ? cause.message : String(cause);
  return sentence(text.replace(/^(name|key|base_url|key_env|api|server|address|text): /, ""));
};

export const whereKept = (where: string): string => (where === "keyring" ? "In the keyring of the operating system" : "In a file that only the user of the server can read");
