// How large files are, and what the small ones cost.

import { legend, tip, tooltip, valueAxis } from "../axes";
import { chart } from "../chart";
import { amounts, counts, paths, times } from "../columns";
import type { Panel } from "../panel";
import type { Sizes } from "../report";
import { type Row, stack, stackHeight } from "../stack";
import { table } from "../table";
import type { Theme } from "../theme";
import { bytes, count, many, share } from "../units";
import { type View, most, sum } from "../view";

export const sizes: Panel = {
  id: "sizes",
  title: "File sizes",
  short: "Sizes",
  shows:
    "How many files of each size there are, what they hold, and how often small ones are opened.",
  draw(view) {
    const data = view.panel("sizes");
    if (typeof data === "string") return data;
    const body: Node[] = [histogram(view, data)];
    const { small } = data;
    if (most(small.opened_per_s) > 0 || most(small.created_per_s) > 0) body.push(storm(view, data));
    if (small.classes.n > 0) body.push(classes(view, data));
    const unknown =
      data.unknown > 0 ? [`The size of ${many(data.unknown, "file")} was never seen.`] : [];
    return { notable: data.sentence, body, notes: [...(data.notes ?? []), ...unknown] };
  },
};

function label(upto: number | null | undefined, before: number | null | undefined): string {
  if (upto === 0) return "empty";
  if (upto == null) return `> ${short(before ?? 0)}`;
  return `≤ ${short(upto)}`;
}

/** 4 KiB, not 4.00 KiB: these are round. */
function short(value: number): string {
  return bytes(value).replace(/\.0+ /, " ");
}

/** Without the empty bins beyond the largest file. */
function filled(bins: Sizes["bins"]): Sizes["bins"] {
  const last = bins.files.findLastIndex((files, bin) => files > 0 || (bins.opens[bin] ?? 0) > 0);
  const cut = <T>(column: T[]): T[] => column.slice(0, Math.max(last + 1, 4));
  const { upto_bytes, files, bytes, opens } = bins;
  const n = Math.max(last + 1, 4);
  return {
    n,
    upto_bytes: cut(upto_bytes),
    files: cut(files),
    bytes: cut(bytes),
    opens: cut(opens),
  };
}

function histogram(view: View, data: Sizes): HTMLElement {
  const bins = filled(data.bins);
  const names = bins.upto_bytes.map((upto, bin) => label(upto, bins.upto_bytes[bin - 1]));
  const parts = (column: number[]): number[] => {
    const all = sum(column) || 1;
    return column.map((value) => (100 * value) / all);
  };
  return chart({
    label: "Files, bytes and opens by file size",
    file: view.file("sizes"),
    height: 280,
    option: (theme, width) => {
      const series = [
        {
          name: "Files",
          colour: theme.read,
          column: bins.files,
          show: (n: number) => many(n, "file"),
        },
        {
          name: "Opens",
          colour: theme.queue,
          column: bins.opens,
          show: (n: number) => many(n, "open"),
        },
        { name: "Bytes", colour: theme.written, column: bins.bytes, show: bytes },
      ];
      return {
        grid: {
          outerBoundsMode: "none",
          left: 48,
          right: 14,
          top: 36,
          bottom: width < 700 ? 64 : 26,
        },
        legend: legend(theme),
        xAxis: {
          type: "category",
          data: names,
          axisLabel: {
            color: theme.muted,
            interval: 0,
            rotate: width < 700 ? 45 : 0,
            fontSize: 11,
          },
          axisLine: { lineStyle: { color: theme.line } },
          axisTick: { show: false },
        },
        yAxis: valueAxis(theme, "", { axisLabel: { color: theme.muted, formatter: "{value} %" } }),
        tooltip: tooltip(
          theme,
          (at: never) => {
            const bin = (at as { dataIndex: number }[])[0]?.dataIndex ?? 0;
            const rows = series.map(({ name, colour, column, show }) => ({
              colour,
              label: name,
              value: `${show(column[bin] ?? 0)} (${share((column[bin] ?? 0) / (sum(column) || 1))})`,
            }));
            return tip(`Files ${names[bin] ?? ""}`, rows);
          },
          { axisPointer: { type: "shadow", shadowStyle: { color: theme.line, opacity: 0.4 } } },
        ),
        series: series.map(({ name, colour, column }) => ({
          type: "bar" as const,
          name,
          data: parts(column),
          itemStyle: { color: colour },
          barGap: "5%",
          barMaxWidth: 22,
        })),
      };
    },
  }).element;
}

function storm(view: View, { small }: Sizes): HTMLElement {
  const rows = (theme: Theme): Row[] => [
    {
      title: `Small files (up to ${short(small.upto_bytes)})`,
      measure: "per second",
      lines: [
        { name: "Opened", colour: theme.queue, values: small.opened_per_s, filled: true },
        { name: "Created", colour: theme.operations, values: small.created_per_s, filled: true },
      ],
    },
  ];
  return chart({
    label: `Small files opened and created over time, up to ${count(most(small.opened_per_s))} a second`,
    file: view.file("small-files"),
    height: stackHeight(rows({} as Theme)),
    zoom: true,
    option: (theme, width) => stack(theme, rows(theme), view.run.wall_us, small.bin_us, width),
  }).element;
}

function classes(view: View, { small }: Sizes): HTMLElement {
  const rows = small.classes;
  return table({
    caption: `Kinds of small files (up to ${short(small.upto_bytes)})`,
    file: view.file("small-files"),
    rows: rows.n,
    page: 8,
    columns: [
      paths("Files", (row) => view.pattern(rows.class[row])),
      counts("Files", rows.files, "", true),
      counts("Opens", rows.opens, "", true),
      amounts("Median size", rows.median_bytes),
      times("Time", rows.time_us, "That programs waited for them", true),
    ],
  });
}
