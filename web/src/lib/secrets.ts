// Takes out what looks like a secret, for files that leave this machine. The server keeps
// the secrets it knows out of the log; these are those that an agent read or printed.

const looks: RegExp[] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /\bsk-[A-Za-z0-9_-]{20,}/g, // Anthropic, OpenAI and others
  /\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{30,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{30,}/g,
  /\bglpat-[A-Za-z0-9_-]{20,}/g,
  /\bxox[abeprs]-[A-Za-z0-9-]{10,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{35}/g,
  /\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}/g, // JSON web tokens
];

// A name that says what it holds, and its value.
const named = /\b([A-Za-z0-9_-]*(?:password|passwd|secret|token|api[_-]?key|access[_-]?key)[A-Za-z0-9_-]*)(["']?\s*[=:]\s*["']?|\s+Bearer\s+)([A-Za-z0-9+/_.~-]{12,})/gi;
const bearer = /\b(Bearer|Basic)(\s+)[A-Za-z0-9+/_.~=-]{16,}/g;

export function withoutSecrets(text: string): string {
  let out = text;
  for (const pattern of looks) out = out.replace(pattern, "[secret]");
  return out.replace(bearer, "$1$2[secret]").replace(named, "$1$2[secret]");
}
