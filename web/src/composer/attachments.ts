// Files that go with a message.

import type { Block } from "../api/types";

const largest = 8 << 20;
const pictures = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** Reads pictures as images and everything else that is text as text. */
export async function blockOf(file: File): Promise<Block> {
  if (file.size > largest) throw new Error(`${file.name} is larger than 8 MB.`);
  if (pictures.includes(file.type)) {
    return { type: "image", media_type: file.type, name: file.name, bytes: base64(new Uint8Array(await file.arrayBuffer())) };
  }
  if (file.type === "application/pdf") {
    return { type: "document", media_type: file.type, name: file.name, bytes: base64(new Uint8Array(await file.arrayBuffer())) };
  }
  const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  return { type: "text", text: `\n\n${file.name}:\n\n\`\`\`\n${text}\n\`\`\`\n`, name: file.name };
}

function base64(bytes: Uint8Array): string {
  let out = "";
  for (let i = 0; i < bytes.length; i += 0x8000) out += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(out);
}
