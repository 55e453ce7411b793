// Stands in for two parts of streamdown, see vite.config.ts. HTML in an answer is
// shown as text, so nothing may parse it; and there is no Tailwind whose classes
// would have to be merged.

export default function noHtml(): void {}

export const twMerge = (...names: unknown[]): string => names.filter((n) => typeof n === "string" && n).join(" ");
