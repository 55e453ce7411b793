// The keys of the query cache.
export const keys = {
  me: ["me"] as const,
  sessions: ["sessions"] as const,
  requests: ["requests"] as const,
  agents: ["agents"] as const,
  models: (agent: string) => ["models", agent] as const,
  rules: ["rules"] as const,
  personas: (cwd: string) => ["personas", cwd] as const,
  personaPrompt: (id: string, cwd: string, mode: string) => ["persona-prompt", id, cwd, mode] as const,
  roots: ["roots"] as const,
  dirs: (path: string) => ["dirs", path] as const,
  files: (session: string) => ["files", session] as const,
  changes: (session: string) => ["changes", session] as const,
  commands: (session: string) => ["commands", session] as const,
  queue: (session: string) => ["queue", session] as const,
  usage: (group: string) => ["usage", group] as const,
};
