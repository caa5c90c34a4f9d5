// How long, how dear, how busy; and which kind of task the time went to.

import { bars, barsHeight } from "../bars";
import { chart } from "../chart";
import { amounts, bounded, counts, limits, times } from "../columns";
import { el, type Child } from "../dom";
import type { Panel } from "../panel";
import type { Overview } from "../report";
import { shownTheme } from "../theme";
import { bounds, bytes, count, many, seconds, share, timeScale, usd } from "../units";
import { type View, largest, most, sum } from "../view";
import { table } from "../table";

const SHOWN = 14;

export const overview: Panel = {
  id: "overview",
  title: "Overview",
  short: "Overview",
  shows: "How long the run took, how busy it was, and which kinds of task the time went to.",
  draw(view) {
    const data = view.panel("overview");
    if (typeof data === "string") return data;
    return {
      notable: notable(view, data),
      body: [tiles(data), byNameChart(view, data), byNameTable(view, data)],
      notes: [...(data.notes ?? []), ...notSeen(data)],
    };
  },
};

/** Shells and engines only wait for what they start: the table has them, the chart has not. */
function isDriver(view: View, { by_name }: Overview, row: number): boolean {
  return view.run.names.driver[by_name.name[row] ?? -1] === 1;
}

function notable(view: View, data: Overview): string | null {
  const walls = data.by_name.wall_us.map((wall, row) => (isDriver(view, data, row) ? null : wall));
  const at = largest(walls);
  const all = sum(walls);
  if (at < 0 || all === 0) return null;
  const part = (data.by_name.wall_us[at] ?? 0) / all;
  const name = view.name(data.by_name.name[at]);
  return `“${name}” takes the most: ${share(part)} of the time of all tasks.`;
}

function notSeen(data: Overview): string[] {
  if (data.not_seen.length === 0) return [];
  const words = data.not_seen.map(([program, times]) => `${program} (${many(times, "time")})`);
  return [`Carried work elsewhere, which is not seen: ${words.join(", ")}.`];
}

function tile(label: string, value: string, detail: Child, meter?: number | null): HTMLElement {
  const made = el(
    "div",
    { class: "tile" },
    el("dt", {}, label),
    el("dd", {}, el("span", { class: "value" }, value), el("span", { class: "detail" }, detail)),
  );
  if (meter != null) {
    const fill = el("span", { class: "fill" });
    fill.style.width = `${Math.min(100, meter * 100)}%`;
    made.append(el("span", { class: "meter", "aria-hidden": "true" }, fill));
  }
  return made;
}

function amount(exact: number | null, least: number | null, most: number | null): string {
  return exact != null ? bytes(exact) : (bounds(least, most) ?? "not seen");
}

function tiles(data: Overview): HTMLElement {
  const known = (value: string, seen: number | null): string => (seen == null ? "not seen" : value);
  const ended = data.exit === "0" ? "ended well" : data.exit ? `ended with ${data.exit}` : "";
  const failed = data.failed > 0 ? `${many(data.failed, "task")} failed` : "none failed";
  const made = [
    tile("Time", seconds(data.wall_us / 1e6), ended),
    tile(
      "Slots at work",
      known(share(data.utilisation_share), data.utilisation_share),
      data.slots == null ? "" : `of ${many(data.slots, "slot")}`,
      data.utilisation_share,
    ),
    tile(
      "Waiting for storage",
      known(share(data.waited_share), data.waited_share),
      data.waited_us == null ? "" : `of the tasks' time; ${seconds(data.waited_us / 1e6)} in all`,
      data.waited_share,
    ),
    tile(
      "Computing",
      known(share(data.cpu_share), data.cpu_share),
      data.cpu_us == null ? "" : `of the tasks' time; ${seconds(data.cpu_us / 1e6)} of CPU`,
      data.cpu_share,
    ),
    tile("Tasks", count(data.tasks), failed),
    tile(
      "Read",
      amount(data.read_bytes, data.read_at_least_bytes, data.read_at_most_bytes),
      "by tasks",
    ),
    tile(
      "Written",
      amount(data.written_bytes, data.written_at_least_bytes, data.written_at_most_bytes),
      "by tasks",
    ),
    tile("Operations", known(count(data.operations), data.operations), "on files"),
    ...(data.cost_usd == null ? [] : [tile("Cost", usd(data.cost_usd), "by the price sheet")]),
  ];
  const list = el("dl", { class: "tiles" }, ...made);
  list.style.setProperty("--across", String(Math.ceil(made.length / 2)));
  return list;
}

/** Time of each kind of task, by what it was spent on. */
function byNameChart(view: View, data: Overview): HTMLElement {
  const rows = data.by_name;
  const all = Array.from({ length: rows.n }, (_, row) => row);
  const shown = all.filter((row) => !isDriver(view, data, row)).slice(0, SHOWN);
  if (shown.length === 0) return el("p", { class: "empty" }, "No task was seen.");
  const { split } = rows;
  const parts = (column: (number | null)[]): (number | null)[] =>
    shown.map((row) => column[row] ?? null);
  const scale = timeScale(most(shown.map((row) => rows.wall_us[row] ?? null)) / 1e6);
  const names = shown.map((row) => view.name(rows.name[row]) || "(unknown)");
  return chart({
    label: `Time of the ${names.length} costliest kinds of task, by what it was spent on`,
    file: view.file("tasks"),
    height: barsHeight(shown.length, 5, true),
    option: (theme, width) =>
      bars(
        theme,
        {
          names,
          series: [
            { name: "Computing", colour: theme.read, values: parts(split.computing_us) },
            {
              name: "Waiting for storage",
              colour: theme.written,
              values: parts(split.storage_us),
            },
            { name: "Waiting for a CPU", colour: theme.queue, values: parts(split.cpu_wait_us) },
            {
              name: "Asleep, or waiting for something else",
              colour: theme.operations,
              values: parts(split.elsewhere_us),
            },
            { name: "Not known", colour: theme.others, values: parts(split.unknown_us) },
          ],
          stacked: true,
          unit: scale.unit,
          divisor: scale.divisor * 1e6,
          show: (value) => seconds(value / 1e6),
          also: (at) => [
            { label: "Tasks", value: count(rows.tasks[at]) },
            { label: "Wall time, summed", value: seconds(micros(rows.wall_us[at])) },
          ],
        },
        width,
      ),
  }).element;
}

const micros = (value: number | null | undefined): number | null =>
  value == null ? null : value / 1e6;

function byNameTable(view: View, data: Overview): HTMLElement {
  const rows = data.by_name;
  const colour = (row: number): Node => {
    const dot = el("span", { class: "swatch", "aria-hidden": "true" });
    dot.style.backgroundColor = view.colours.of(rows.name[row] ?? -1, shownTheme());
    return el("span", { class: "named" }, dot, view.name(rows.name[row]));
  };
  return table({
    caption: "Kinds of task",
    file: view.file("tasks"),
    rows: rows.n,
    columns: [
      { title: "Task", kind: "text", value: (row) => view.name(rows.name[row]), show: colour },
      counts("Count", rows.tasks),
      counts("Failed", rows.failed),
      times("Wall", rows.wall_us, "Summed over all tasks of the name", true),
      times("Median", rows.median_us, "Of one task"),
      times("CPU", rows.cpu_us, "Summed"),
      times("Waited", rows.waited_us, "For storage, summed", true),
      amounts("Memory", rows.memory_peak_bytes, "The most that one process held"),
      bounded("Read", rows.read_bytes, rows.read_at_least_bytes, rows.read_at_most_bytes),
      bounded(
        "Written",
        rows.written_bytes,
        rows.written_at_least_bytes,
        rows.written_at_most_bytes,
      ),
      counts("Files", rows.files),
      counts("Operations", rows.operations),
      ...limits("Read", rows.read_at_least_bytes, rows.read_at_most_bytes),
      ...limits("Written", rows.written_at_least_bytes, rows.written_at_most_bytes),
    ],
  });
}
