import { type RefObject, useLayoutEffect } from "react";

const quiet = 500; // milliseconds without a key, so that nobody answers in mid-word

/** Whether letters are written there. */
export const inText = (el: Element | null) =>
  el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement || el instanceof HTMLSelectElement || (el instanceof HTMLElement && el.isContentEditable);

/** Gives the first request on the page the focus, and with it the keys; one that is a line opens. Tells whether there is one. */
export function focusFirstRequest(): boolean {
  const card = document.querySelector<HTMLElement>("main :is([data-request], [data-need][aria-expanded=false]):not([inert] *)");
  card?.focus();
  if (card?.dataset.need === "one") card.click();
  card?.scrollIntoView({ block: "nearest" });
  return !!card;
}

const messageField = () => document.querySelector<HTMLTextAreaElement>(".composer textarea");

/**
 * Gives a request the focus, so that its keys work, while the message field is empty
 * and nobody types; and gives it back once the request is answered.
 */
export function useFocus(card: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const el = card.current;
    if (!el || el.closest(".home") || !matchMedia("(min-width: 700px)").matches) return;
    let took = false;
    const take = () => {
      const field = messageField();
      const at = document.activeElement;
      if (!field || field.value !== "" || (at !== field && at !== document.body)) return;
      if (document.querySelector("[data-request]") !== el || document.querySelector("[role=dialog], [role=menu]")) return;
      took = true;
      el.focus({ preventScroll: true });
    };
    let timer = setTimeout(take, quiet);
    const wait = () => {
      clearTimeout(timer);
      timer = setTimeout(take, quiet);
    };
    window.addEventListener("keyup", wait);
    return () => {
      clearTimeout(timer);
      window.removeEventListener("keyup", wait);
      const at = document.activeElement;
      if (took && (at === document.body || el.contains(at))) messageField()?.focus();
    };
  }, [card]);
}
