// Text of an agent as Markdown. Whatever it holds, it can neither run anything nor
// fetch anything: HTML is shown as text, pictures are named and not loaded, links go
// to http, https and mailto only and open apart.

import { memo, type ComponentProps, type ReactNode } from "react";
import { defaultRemarkPlugins, Streamdown } from "streamdown";
import rehypeSanitize, { defaultSchema } from "rehype-sanitize";
import { safeLink, safeProse, safeText } from "../lib/safe";
import { CodeBlock } from "./CodeBlock";

type Props = ComponentProps<typeof Streamdown>;

const schema = { ...defaultSchema, tagNames: (defaultSchema.tagNames ?? []).filter((name) => name !== "picture" && name !== "source") };

interface Node { type: string; value?: string; children?: Node[]; tagName?: string; properties?: Record<string, unknown> }

/** HTML that an agent wrote becomes text, so that a reader sees it. */
const showHtml = () => function visit(node: Node): void {
  if (node.type === "raw") node.type = "text";
  node.children?.forEach(visit);
};

const directed = /^(?:p|li|blockquote|t[hd])$/;

/**
 * Each piece of text runs in the direction of its first letter. Paragraphs of an item or a
 * quotation run with it: what has a direction of its own says nothing about what it is in.
 */
const direct = () => function visit(node: Node): void {
  const within = node.tagName === "li" || node.tagName === "blockquote";
  for (const child of node.children ?? []) {
    if (directed.test(child.tagName ?? "") && !(within && child.tagName === "p")) child.properties = { ...child.properties, dir: "auto" };
    visit(child);
  }
};

const Link = ({ href, children }: { href?: string | undefined; children?: ReactNode }) => {
  const url = safeLink(href);
  return url ? (
    <a href={url} target="_blank" rel="noreferrer noopener nofollow" title={url}>
      {children}
    </a>
  ) : (
    <span className="no-link" title={href ? `Not opened: ${safeText(href).slice(0, 200)}` : undefined}>
      {children}
    </span>
  );
};

const Picture = ({ src, alt }: { src?: unknown; alt?: string | undefined }) => {
  const url = typeof src === "string" ? safeLink(src) : undefined;
  const name = `picture${alt ? `: ${alt}` : ""} (not loaded)`;
  return <span className="tag">{url ? <Link href={url}>{name}</Link> : name}</span>;
};

const textOf = (node: ReactNode): string => {
  if (typeof node === "string" || typeof node === "number") return String(node);
  if (Array.isArray(node)) return node.map(textOf).join("");
  return "";
};

const components: NonNullable<Props["components"]> = {
  a: ({ href, children }) => <Link href={href}>{children}</Link>,
  img: ({ src, alt }) => <Picture src={src} alt={alt} />,
  code: ({ className, children }) => (
    <CodeBlock code={safeText(textOf(children)).replace(/\n$/, "")} language={/language-([\w+#-]+)/.exec(className ?? "")?.[1] ?? ""} />
  ),
  inlineCode: ({ children }) => <code className="inline">{safeText(textOf(children))}</code>,
  table: ({ children }) => (
    <div className="table-scroll" tabIndex={0} role="group" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
  input: ({ checked }) => <input type="checkbox" checked={!!checked} disabled readOnly aria-label={checked ? "done" : "open"} />,
};

// Headings of an answer are below those of the page.
const heading = (level: number) =>
  function Heading({ children }: { children?: ReactNode }) {
    return (
      <p className={`md-heading h${level}`} dir="auto" role="heading" aria-level={Math.min(6, level + 2)}>
        {children}
      </p>
    );
  };

const plain = ["p", "ul", "ol", "li", "blockquote", "hr", "thead", "tbody", "tr", "th", "td", "strong", "sup", "sub", "section"];

const all = {
  ...components,
  ...Object.fromEntries([1, 2, 3, 4, 5, 6].map((level) => [`h${level}`, heading(level)])),
  ...Object.fromEntries(plain.map((tag) => [tag, tag])),
} as NonNullable<Props["components"]>;

// Made once: a block of text that is as before is drawn again if these are others.
const remark = Object.values(defaultRemarkPlugins);
const rehype: NonNullable<Props["rehypePlugins"]> = [showHtml, [rehypeSanitize, schema], direct];
const links = { enabled: false };

export const RichMarkdown = memo(function RichMarkdown({ text, streaming = false }: { text: string; streaming?: boolean }) {
  return (
    <Streamdown
      className="markdown"
      mode={streaming ? "streaming" : "static"}
      parseIncompleteMarkdown={streaming}
      remarkPlugins={remark}
      rehypePlugins={rehype}
      components={all}
      controls={false}
      linkSafety={links}
    >
      {safeProse(text)}
    </Streamdown>
  );
});
