// One of several things of a kind: a list to choose from, and what is drawn of the chosen one.

import { endCharts } from "./chart";
import { el, replace } from "./dom";

export function choice(
  label: string,
  names: string[],
  first: number,
  draw: (chosen: number) => HTMLElement,
): HTMLElement {
  const place = el("div", {}, draw(first));
  if (names.length === 1) {
    return el("div", { class: "choice" }, el("h3", {}, `${label}: ${names[0]}`), place);
  }
  const select = el(
    "select",
    {
      change: () => {
        endCharts(place);
        replace(place, draw(Number(select.value)));
      },
    },
    ...names.map((name, index) => el("option", { value: index, selected: index === first }, name)),
  );
  return el("div", { class: "choice" }, el("label", {}, el("h3", {}, `${label}:`), select), place);
}
