import type { ButtonHTMLAttributes, ReactNode } from "react";

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: "primary" | "quiet" | "danger";
  tiny?: boolean;
  /** For buttons that show an icon only. */
  label?: string;
  children: ReactNode;
}

export function Button({ look, tiny, label, className, children, ...rest }: Props) {
  const names = ["button", look, tiny && "tiny", label && "icon", className].filter(Boolean).join(" ");
  return (
    <button type="button" className={names} {...(label ? { "aria-label": label, title: label } : {})} {...rest}>
      {children}
    </button>
  );
}
