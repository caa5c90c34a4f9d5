// Tables that sort by a click on a heading, filter by a word, and save what they show as CSV.

import { csv, type Cell } from "./csv";
import { download, el, put, replace, type Child } from "./dom";
import { NOT_SEEN, count } from "./units";

export interface TableColumn {
  title: string;
  /** With its unit, for CSV, where cells are bare numbers. */
  csv?: string;
  hint?: string;
  value(row: number): Cell;
  /** What is shown; without it, the value itself. */
  show?(row: number): Child;
  /** What is known of a value that was not seen in full: `≥ 3 GiB`. */
  bound?(row: number): string | null;
  /** What it is sorted by; without it, the value. */
  order?(row: number): Cell;
  /** Text: on the left, may wrap. Path: the same, in the font of code. */
  kind?: "text" | "path" | "number";
  /** A bar behind the number, as a share of the column's largest. */
  bar?: boolean;
  /** In the CSV alone. */
  unseen?: boolean;
}

export interface TableSpec {
  caption: string;
  file: string;
  rows: number;
  columns: TableColumn[];
  /** Column (of those that are shown) and direction at first; else as the rows come. */
  sort?: { column: number; down: boolean };
  /** What a filter finds besides the texts that are shown. */
  also?(row: number): string[];
  /** What may be filtered by. */
  placeholder?: string;
  /** Rows shown before "more" is asked for. */
  page?: number;
}

function compare(a: Cell, b: Cell): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

export function table(spec: TableSpec): HTMLElement {
  const { columns } = spec;
  const seen = columns.filter(({ unseen }) => !unseen);
  const page = spec.page ?? 12;
  let sort = spec.sort ?? null;
  let shown = page;
  let wanted = "";
  const peaks = seen.map((column) => (column.bar ? peak(column, spec.rows) : 0));
  const texts = new Map<number, string>();

  const text = (row: number): string => {
    let found = texts.get(row);
    if (found === undefined) {
      const words = columns.filter(({ kind }) => kind === "text" || kind === "path");
      found = [
        ...words.map((column) => String(column.value(row) ?? "")),
        ...(spec.also?.(row) ?? []),
      ]
        .join("\n")
        .toLowerCase();
      texts.set(row, found);
    }
    return found;
  };
  const rows = (): number[] => {
    let found = Array.from({ length: spec.rows }, (_, row) => row);
    if (wanted) found = found.filter((row) => text(row).includes(wanted));
    const by = sort && seen[sort.column];
    if (!by || !sort) return found;
    const sign = sort.down ? -1 : 1;
    // What was not seen is last, whichever way.
    const keyed = found.map((row) => ({ row, value: (by.order ?? by.value)(row) }));
    keyed.sort((a, b) => {
      if (a.value === null || b.value === null)
        return Number(a.value === null) - Number(b.value === null);
      return sign * compare(a.value, b.value);
    });
    return keyed.map(({ row }) => row);
  };

  const body = el("tbody");
  const tally = el("span", { class: "tally", role: "status" });
  const more = el("button", {
    type: "button",
    class: "more",
    click: () => draw((shown += 10 * page)),
  });
  const heads = seen.map((column, index) => {
    const press = (): void => {
      const text = column.kind === "text" || column.kind === "path";
      sort = { column: index, down: sort?.column === index ? !sort.down : !text };
      draw();
    };
    const button = el(
      "button",
      { type: "button", title: column.hint ?? "", click: press },
      column.title,
    );
    return el("th", { scope: "col", class: column.kind ?? "number" }, button);
  });

  function draw(_shown = shown): void {
    const found = rows();
    heads.forEach((head, index) => {
      const now = sort?.column === index ? (sort.down ? "descending" : "ascending") : "none";
      head.setAttribute("aria-sort", now);
    });
    replace(body);
    for (const row of found.slice(0, shown)) {
      put(body, el("tr", {}, ...seen.map((column, index) => cell(column, row, peaks[index] ?? 0))));
    }
    if (found.length === 0) {
      put(
        body,
        el(
          "tr",
          {},
          el(
            "td",
            { class: "none", colspan: seen.length },
            spec.rows > 0 ? "Nothing matches." : "No rows.",
          ),
        ),
      );
    }
    const left = found.length - Math.min(shown, found.length);
    more.hidden = left === 0;
    more.textContent = `Show more (${count(left)} left)`;
    tally.textContent = wanted ? `${count(found.length)} of ${count(spec.rows)} rows` : "";
  }

  const filter = el("input", {
    type: "search",
    placeholder: spec.placeholder ?? "Filter",
    "aria-label": `Filter: ${spec.caption}`,
    input: () => {
      wanted = filter.value.trim().toLowerCase();
      shown = page;
      draw();
    },
  });
  const save = (): void => {
    const header = columns.map((column) => column.csv ?? column.title);
    const cells = rows().map((row) => columns.map((column) => column.value(row)));
    download(`${spec.file}.csv`, "text/csv", csv(header, cells));
  };
  draw();
  return el(
    "div",
    { class: "table" },
    el(
      "div",
      { class: "tools" },
      el("span", { class: "caption", "aria-hidden": "true" }, spec.caption),
      tally,
      spec.rows > 5 && filter,
      el("button", { type: "button", title: "Save the rows as CSV", click: save }, "CSV"),
    ),
    el(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": spec.caption },
      el("table", { "aria-label": spec.caption }, el("thead", {}, el("tr", {}, ...heads)), body),
    ),
    more,
  );
}

function peak(column: TableColumn, rows: number): number {
  let best = 0;
  for (let row = 0; row < rows; row += 1) {
    const value = column.value(row);
    if (typeof value === "number" && value > best) best = value;
  }
  return best;
}

function cell(column: TableColumn, row: number, peak: number): HTMLElement {
  const value = column.value(row);
  const kind = column.kind ?? "number";
  if (value === null) {
    const bound = column.bound?.(row);
    const title = bound ? "some of it was not seen" : "not seen";
    return el("td", { class: kind, title }, bound ?? NOT_SEEN);
  }
  const shown = column.show?.(row) ?? (typeof value === "number" ? count(value) : value);
  const made = el("td", { class: kind }, shown);
  if (peak > 0 && typeof value === "number" && value > 0) {
    made.classList.add("filled");
    made.style.setProperty("--share", `${Math.max(1, (100 * value) / peak)}%`);
  }
  return made;
}
