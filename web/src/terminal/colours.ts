// The colours of tokens.css as the terminal takes them: #rrggbb.

import type { ITheme } from "@xterm/xterm";

const ansi = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;

export function themeOf(element: HTMLElement): ITheme {
  const probe = document.createElement("span");
  element.append(probe);
  const paper = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const colour = (token: string): string => {
    probe.style.color = `var(--${token})`;
    if (!paper) return "#808080";
    paper.clearRect(0, 0, 1, 1);
    paper.fillStyle = getComputedStyle(probe).color;
    paper.fillRect(0, 0, 1, 1);
    return "#" + [...paper.getImageData(0, 0, 1, 1).data.slice(0, 3)].map((n) => n.toString(16).padStart(2, "0")).join("");
  };
  const theme: ITheme = {
    background: colour("bg-code"), foreground: colour("text"), cursor: colour("accent"), cursorAccent: colour("bg-code"),
    selectionBackground: colour("selection"), scrollbarSliderBackground: colour("border"), scrollbarSliderHoverBackground: colour("border-strong"),
    scrollbarSliderActiveBackground: colour("border-strong"),
  };
  ansi.forEach((name, i) => {
    theme[name] = colour(`ansi-${i}`);
    theme[`bright${name[0]!.toUpperCase()}${name.slice(1)}` as "brightRed"] = colour(`ansi-${i}`);
  });
  probe.remove();
  return theme;
}
