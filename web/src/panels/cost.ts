// What the run costs by a price sheet, line by line.

import { bars, barsHeight } from "../bars";
import { chart } from "../chart";
import { dollars, words } from "../columns";
import { el } from "../dom";
import type { Panel } from "../panel";
import type { Cost } from "../report";
import { table } from "../table";
import { count, share, usd } from "../units";
import { type View, largest } from "../view";

export const cost: Panel = {
  id: "cost",
  title: "Cost",
  short: "Cost",
  shows: "What the run costs in US dollars, line by line, by the price sheet that is named.",
  draw(view) {
    const data = view.panel("cost");
    if (typeof data === "string") return data;
    const doubts = [
      ["Nobody could verify the price of", data.unverified],
      ["Prices from second hand", data.second_hand],
      ["Without a price, and not counted", data.unpriced],
    ] as const;
    return {
      notable: notable(view, data),
      body: [total(data), ...(data.lines.n > 0 ? [draw(view, data), rows(view, data)] : [])],
      notes: [
        ...(data.notes ?? []),
        ...doubts.flatMap(([words, names]) =>
          names.length > 0 ? [`${words}: ${names.join(", ")}.`] : [],
        ),
      ],
    };
  },
};

function notable(view: View, { lines, total_usd }: Cost): string | null {
  const at = largest(lines.usd);
  if (at < 0 || !total_usd) return null;
  const part = share((lines.usd[at] ?? 0) / total_usd);
  return `${part} of it is for “${view.text(lines.what[at])}”.`;
}

function total(data: Cost): HTMLElement {
  const each = data.per_sample_usd == null ? "" : `, ${usd(data.per_sample_usd)} a sample`;
  const sheet = `by the sheet “${data.sheet}” of ${data.compiled}`;
  return el(
    "p",
    { class: "total" },
    el("strong", {}, `${usd(data.total_usd)}${each}`),
    `, ${sheet}`,
  );
}

function draw(view: View, { lines }: Cost): HTMLElement {
  const names = lines.what.map((what, row) => {
    const item = view.text(lines.item[row]);
    return item ? `${view.text(what)}: ${item}` : view.text(what);
  });
  return chart({
    label: "Cost line by line",
    file: view.file("cost"),
    height: barsHeight(lines.n, 1, true),
    option: (theme, width) =>
      bars(
        theme,
        {
          names,
          series: [{ name: "Cost", colour: theme.operations, values: lines.usd }],
          stacked: true,
          unit: "US$",
          divisor: 1,
          show: (value) => usd(value),
          also: (row) => [{ label: "Units", value: count(lines.units[row]) }],
        },
        width,
      ),
  }).element;
}

function rows(view: View, { lines }: Cost): HTMLElement {
  return table({
    caption: "Lines of the bill",
    file: view.file("cost"),
    rows: lines.n,
    columns: [
      words("What", (row) => view.text(lines.what[row])),
      words("Item", (row) => view.text(lines.item[row])),
      { title: "Units", value: (row) => lines.units[row] ?? null },
      dollars("Cost", lines.usd, true),
    ],
  });
}
