import { FileText } from "lucide-react";
import type { Block } from "../api/types";
import { pictureSource, safeLink, safeName } from "../lib/safe";

/** A picture or document. Only pictures that came with the conversation are shown. */
export function Media({ block }: { block: Block }) {
  const source = block.type === "image" ? pictureSource(block.media_type, block.bytes) : undefined;
  const name = safeName(block.name || block.media_type || block.type);
  if (source) return <img className="media" src={source} alt={name} />;
  const url = safeLink(block.url);
  return (
    <span className="tag media-tag">
      <FileText size={12} aria-hidden="true" />{" "}
      {url ? (
        <a href={url} target="_blank" rel="noreferrer noopener">
          {name}
        </a>
      ) : (
        name
      )}
    </span>
  );
}
