// Runs beside each other: predicted and measured, and storages with their intervals.

import { bars, barsHeight } from "../bars";
import { chart } from "../chart";
import { counts, limits, times, words } from "../columns";
import { el } from "../dom";
import type { Panel } from "../panel";
import type { Compare, Column, Run } from "../report";
import { type TableColumn, table } from "../table";
import { bounds, bytes, difference, seconds, share, timeScale, usd } from "../units";
import { type View, largest, most } from "../view";

const SHOWN = 10;

export const compare: Panel = {
  id: "compare",
  title: "Comparison",
  short: "Comparison",
  shows:
    "All runs of this report beside each other: as a whole, for each kind of task, by storage.",
  ofAll: true,
  draw(view) {
    const data = view.report.compare;
    if (!data) return "There is one run only; name several to compare them.";
    const body: Node[] = [whole(view, data)];
    if (data.names.n > 0) body.push(namesChart(view, data), namesTable(view, data));
    // One run of each says no more than the table of runs.
    const repeated = data.storages.runs.some((runs) => (runs ?? 0) > 1);
    if (data.storages.n > 1 && repeated) body.push(storages(view, data));
    return { notable: notable(view, data), body, ...(data.notes ? { notes: data.notes } : {}) };
  },
};

const label = (view: View, run: number | undefined): string =>
  view.report.runs[run ?? -1]?.label ?? "";

const ORIGINS: Record<Run["origin"], string> = {
  measured: "measured",
  simulated: "predicted",
  imported: "imported",
};

function titled(view: View, run: number | undefined): string {
  const found = view.report.runs[run ?? -1];
  return found ? `${found.label} (${ORIGINS[found.origin]})` : "";
}

function against(value: number | null | undefined, base: number | null | undefined): number | null {
  return value == null || !base ? null : value / base - 1;
}

// One run of each tells nothing below this: the same workflow took 8.4 to 11.5 s on one machine.
const CHANCE = 0.3;

function notable(view: View, { base, runs, storages }: Compare): string | null {
  const of = runs.run.indexOf(base);
  const others = runs.run.flatMap((run, at) => {
    const off = run === base ? null : against(runs.wall_us[at], runs.wall_us[of]);
    return off == null ? [] : [{ run, off }];
  });
  const far = others[largest(others.map(({ off }) => Math.abs(off)))];
  if (!far) return null;
  const word =
    Math.abs(far.off) < 0.01
      ? "as long as"
      : `${share(Math.abs(far.off))} ${far.off > 0 ? "longer" : "less"} than`;
  const measured = [far.run, base].every(
    (run) => view.report.runs[run ?? -1]?.origin === "measured",
  );
  const once = !storages.runs.some((runs) => (runs ?? 0) > 1);
  const noise = measured && once && Math.abs(far.off) >= 0.01 && Math.abs(far.off) < CHANCE;
  const sure = noise ? ": with one run of each that may be chance, repeats would tell" : "";
  return `“${label(view, far.run)}” took ${word} “${label(view, base)}”${sure}.`;
}

function whole(view: View, { base, runs }: Compare): HTMLElement {
  const of = runs.run.indexOf(base);
  // A difference between shares is told in points: a per cent of per cents misleads.
  const points = (title: string, column: Column): TableColumn => ({
    title,
    value: (row) => column[row] ?? null,
    show: (row) => {
      const [value, base] = [column[row], column[of]];
      const off =
        row === of || value == null || base == null ? null : Math.round(100 * (value - base));
      const note =
        off == null
          ? null
          : el("small", {}, `${off < 0 ? "−" : off > 0 ? "+" : ""}${Math.abs(off)} points`);
      return el("span", {}, share(value), note);
    },
  });
  const size = (
    title: string,
    column: Column,
    show: (value: number | null) => string,
    unit: string,
    least: Column = [],
  ) => ({
    title,
    bound: (row: number) => bounds(least[row]),
    csv: unit ? `${title} (${unit})` : title,
    value: (row: number) => column[row] ?? null,
    show: (row: number) => {
      const off = row === of ? null : against(column[row], column[of]);
      const note = off == null ? null : el("small", {}, difference(off));
      return el("span", {}, show(column[row] ?? null), note);
    },
  });
  return table({
    caption: `Runs; differences are to ${label(view, base)}`,
    file: "comparison",
    rows: runs.n,
    columns: [
      words("Run", (row) => titled(view, runs.run[row])),
      size("Time", seconded(runs.wall_us), seconds, "s"),
      size("Cost", runs.cost_usd, usd, "US$"),
      points("Slots at work", runs.utilisation_share),
      points("Waiting", runs.waited_share),
      size("Read", runs.read_bytes, bytes, "bytes", runs.read_at_least_bytes),
      size("Written", runs.written_bytes, bytes, "bytes", runs.written_at_least_bytes),
      counts("Operations", runs.operations),
      ...limits("Read", runs.read_at_least_bytes),
      ...limits("Written", runs.written_at_least_bytes),
    ],
  });
}

const seconded = (column: Column): Column => column.map((us) => (us == null ? null : us / 1e6));

function namesChart(view: View, { names }: Compare): HTMLElement {
  const longest = Array.from({ length: names.n }, (_, row) =>
    names.runs.reduce((best, run) => Math.max(best, run.wall_us[row] ?? 0), 0),
  );
  const order = longest.map((_, row) => row).sort((a, b) => (longest[b] ?? 0) - (longest[a] ?? 0));
  const shown = order.slice(0, SHOWN);
  const scale = timeScale(most(longest) / 1e6);
  return chart({
    label: `Time of the ${shown.length} costliest kinds of task in each run`,
    file: "comparison",
    height: barsHeight(shown.length, names.runs.length, false),
    option: (theme, width) =>
      bars(
        theme,
        {
          names: shown.map((row) => view.text(names.name[row])),
          series: names.runs.map(({ run, wall_us }, at) => ({
            name: titled(view, run),
            colour: theme.series[at % theme.series.length] ?? theme.others,
            values: shown.map((row) => wall_us[row] ?? null),
          })),
          stacked: false,
          unit: scale.unit,
          divisor: scale.divisor * 1e6,
          show: (value) => seconds(value / 1e6),
        },
        width,
      ),
  }).element;
}

function namesTable(view: View, { base, names }: Compare): HTMLElement {
  const of = names.runs.find(({ run }) => run === base);
  const columns = names.runs.flatMap((run): TableColumn[] => {
    const off = (row: number): number | null => against(run.wall_us[row], of?.wall_us[row]);
    const own = [
      times(`${label(view, run.run)}: time`, run.wall_us, "Summed over all tasks of the name"),
      times(`${label(view, run.run)}: waited`, run.waited_us, "For storage, summed"),
    ];
    if (run.run === base) return own;
    const title = `${label(view, run.run)}: difference`;
    const hint = `Of the time, to ${label(view, base)}`;
    return [...own, { title, hint, value: off, show: (row) => difference(off(row)) }];
  });
  return table({
    caption: `Kinds of task; differences are to ${label(view, base)}`,
    file: "comparison-tasks",
    rows: names.n,
    columns: [
      words("Task", (row) => view.text(names.name[row])),
      counts("Count", of?.tasks ?? []),
      ...columns,
    ],
  });
}

function storages(view: View, { storages: found }: Compare): HTMLElement {
  const scale = timeScale(most(found.high_us) / 1e6);
  const span = (row: number): string =>
    found.low_us[row] == null
      ? ""
      : `${seconds((found.low_us[row] ?? 0) / 1e6)} to ${seconds((found.high_us[row] ?? 0) / 1e6)}`;
  const picture = chart({
    label: "Median time on each storage, with its interval",
    file: "storages",
    height: barsHeight(found.n, 1, true),
    option: (theme, width) =>
      bars(
        theme,
        {
          names: found.label.map((index) => view.text(index)),
          series: [{ name: "Median", colour: theme.cool, values: found.median_us }],
          stacked: true,
          unit: scale.unit,
          divisor: scale.divisor * 1e6,
          show: (value) => seconds(value / 1e6),
          also: (row) => [
            { label: found.range[row] ? "Least to greatest" : "95 % interval", value: span(row) },
          ],
          spans: found.low_us.map((low, row) => ({ low, high: found.high_us[row] ?? null })),
        },
        width,
      ),
  }).element;
  const ratio = (column: Column) => (row: number) => column[row] ?? null;
  const rows = table({
    caption: "Storages; times are to the first",
    file: "storages",
    rows: found.n,
    columns: [
      words("On", (row) => view.text(found.label[row])),
      counts("Runs", found.runs),
      times("Median", found.median_us),
      words("From to", span, "95 % interval of the median; with few runs, least to greatest"),
      {
        title: "Times",
        value: ratio(found.ratio),
        show: (row) => found.ratio[row]?.toFixed(2) ?? "",
      },
      {
        title: "at least",
        value: ratio(found.ratio_low),
        show: (row) => found.ratio_low[row]?.toFixed(2) ?? "",
      },
      {
        title: "at most",
        value: ratio(found.ratio_high),
        show: (row) => found.ratio_high[row]?.toFixed(2) ?? "",
      },
      words("Verdict", (row) => view.text(found.verdict[row])),
    ],
  });
  return el("div", { class: "choice" }, el("h3", {}, "Storages"), picture, rows);
}
