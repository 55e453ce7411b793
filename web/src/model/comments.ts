// Comments on lines of a diff, which gather into the next message.

export interface Comment { path: string; line: number; code: string; text: string; key: string }

/** The message that carries the comments. */
export function messageOf(comments: readonly Comment[]): string {
  return comments.map((c) => `${c.path}:${c.line}\n> ${c.code.trim().slice(0, 200)}\n${c.text.trim()}`).join("\n\n");
}
