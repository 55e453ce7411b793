import type { AnchorHTMLAttributes, MouseEvent } from "react";
import { go } from "../lib/router";

/** A link within the page. With a modifier it opens a new tab, as links do. */
export function Link({ to, onClick, ...rest }: AnchorHTMLAttributes<HTMLAnchorElement> & { to: string }) {
  const follow = (e: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(e);
    if (e.defaultPrevented || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey || e.button !== 0) return;
    e.preventDefault();
    go(to);
  };
  return <a href={to} onClick={follow} {...rest} />;
}
