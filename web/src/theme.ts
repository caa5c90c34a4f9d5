// Light or dark: what the system asks for, until the reader says otherwise.

import { DARK, LIGHT, type Theme } from "./colours";
import { el } from "./dom";

export type { Theme } from "./colours";

const system = matchMedia("(prefers-color-scheme: dark)");
let chosen: "light" | "dark" | null = null;
let printing = false;
const listeners: (() => void)[] = [];

/** Called whenever other colours are to be shown. */
export function onTheme(changed: () => void): void {
  listeners.push(changed);
}

export function shownTheme(): Theme {
  if (printing) return LIGHT;
  return (chosen ?? (system.matches ? "dark" : "light")) === "dark" ? DARK : LIGHT;
}

function apply(): void {
  document.documentElement.dataset.theme = shownTheme().dark ? "dark" : "light";
  // Charts are drawn for the width of paper, which they can't know while they are on it.
  document.documentElement.toggleAttribute("data-printing", printing);
  for (const changed of listeners) changed();
}

export function themeButton(): HTMLElement {
  const button = el("button", { type: "button", class: "theme" });
  const label = (): void => {
    button.textContent = shownTheme().dark ? "Light" : "Dark";
    button.title = shownTheme().dark ? "Show light colours" : "Show dark colours";
  };
  button.addEventListener("click", () => {
    chosen = shownTheme().dark ? "light" : "dark";
    apply();
    label();
  });
  system.addEventListener("change", () => {
    apply();
    label();
  });
  // Paper is white, and has what was not scrolled to.
  addEventListener("beforeprint", () => {
    printing = true;
    apply();
  });
  addEventListener("afterprint", () => {
    printing = false;
    apply();
  });
  apply();
  label();
  return button;
}
