// Text that an agent or a file system made is data. What could deceive a reader
// (control characters, direction overrides, invisible characters) is made visible.

// C0 without tab and newline, DEL, C1, bidi controls and zero-width characters.
const deceiving = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

const visible = (c: string) => {
  const code = c.charCodeAt(0);
  return code < 0x20 ? String.fromCharCode(0x2400 + code) : `\\u${code.toString(16).padStart(4, "0")}`;
};

/** Makes deceiving characters visible. */
export const safeText = (s: string) => s.replace(deceiving, visible);

// One zero-width joiner or non-joiner where it shapes an emoji or a script other than Latin.
const letters = String.raw`[^\P{L}\p{Script=Latin}]|[^\P{M}\p{Script=Inherited}]`;
const shaping = String.raw`(?<=[\p{L}\p{M}\p{Nd}\p{Extended_Pictographic}\p{Emoji_Modifier}])[\u200c\u200d](?=${letters}|\p{Extended_Pictographic})|(?<=[^\P{M}\p{Script=Inherited}])[\u200c\u200d]`;
const deceivingInProse = new RegExp(`(${shaping})|${deceiving.source}`, "gu");

/** The same for prose, which leaves joiners where people write them. Not for what a person decides on, runs or opens. */
export const safeProse = (s: string) => s.replace(deceivingInProse, (c: string, shapes?: string) => shapes ?? visible(c));

/** The same for names, which are one line. */
export const safeName = (s: string) => safeText(s).replace(/[\n\t]/g, (c) => (c === "\n" ? "␊" : "␉"));

/** Takes terminal sequences out, for places that show plain text. */
export const withoutAnsi = (s: string) =>
  s.replace(/\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g, "");

export const hasAnsi = (s: string) => /[\u001b\r\b]/.test(s);

/** The address if a person may be sent there, else undefined. */
export function safeLink(url: string | undefined): string | undefined {
  if (!url) return undefined;
  try {
    const { protocol, href } = new URL(url, "https://relative.invalid");
    if (new URL(url, "https://relative.invalid").host === "relative.invalid") return undefined;
    return protocol === "http:" || protocol === "https:" || protocol === "mailto:" ? href : undefined;
  } catch {
    return undefined;
  }
}

const pictures = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** A picture that came with the conversation. SVG and remote pictures are not shown. */
export const pictureSource = (mediaType: string | undefined, bytes: string | undefined) =>
  bytes && mediaType && pictures.has(mediaType) && /^[A-Za-z0-9+/=]+$/.test(bytes) ? `data:${mediaType};base64,${bytes}` : undefined;
