// The highlighter in the shape that the diff view wants.

import { highlighterOf, languageOf } from "../lib/highlight";

interface Text { type: "text"; value: string }
interface Element { type: "element"; tagName: "span"; properties: { className: string[] }; children: Text[] }

const classOf = (color: string | undefined) => /--shiki-token-([\w-]+)/.exec(color ?? "")?.[1];

/** Loads the language of a file. The view then asks for colours without waiting. */
export async function refract(path: string): Promise<{ highlight: (code: string) => (Text | Element)[] } | null> {
  const colour = await highlighterOf(languageOf(path));
  if (!colour) return null;
  return {
    highlight: (code) => {
      const lines = colour(code);
      const nodes: (Text | Element)[] = [];
      lines.forEach((line, i) => {
        if (i > 0) nodes.push({ type: "text", value: "\n" });
        for (const t of line) {
          const name = classOf(t.color);
          const text: Text = { type: "text", value: t.text };
          nodes.push(name ? { type: "element", tagName: "span", properties: { className: [`tok-${name}`] }, children: [text] } : text);
        }
      });
      return nodes;
    },
  };
}
