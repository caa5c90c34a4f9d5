// Lying bars: one for each name, the costliest on top, with the name in full at their left.

import { legend, tip, tooltip, valueAxis } from "./axes";
import type { Theme } from "./colours";
import type { Option } from "./echarts";

export interface BarSeries {
  name: string;
  colour: string | ((row: number) => string);
  values: (number | null)[];
}

export interface BarsSpec {
  names: string[];
  series: BarSeries[];
  stacked: boolean;
  unit: string;
  divisor: number;
  show(value: number, series: number, row: number): string;
  /** What else a tooltip says of a row. */
  also?(row: number): { label: string; value: string }[];
  /** Low and high of the first series, as a whisker. */
  spans?: { low: number | null; high: number | null }[];
}

const ROW = 24;
/** In a narrower chart its buttons are above it, not beside the legend (style.css). */
const BESIDE = 660;

export function barsHeight(names: number, series: number, stacked: boolean): number {
  const each = stacked ? ROW : Math.max(ROW, 12 * series + 8);
  return names * each + 66;
}

export function bars(theme: Theme, spec: BarsSpec, width: number): Option {
  const longest = spec.names.reduce((best, name) => Math.max(best, name.length), 0);
  const room = Math.min(Math.max(40, 7.6 * longest + 8), 300, width * 0.34);
  const colour = (series: BarSeries, row: number): string =>
    typeof series.colour === "string" ? series.colour : series.colour(row);
  return {
    grid: { outerBoundsMode: "none", left: room + 12, right: 34, top: 34, bottom: 34 },
    legend: legend(theme, {
      data: spec.series.map(({ name }) => name),
      right: width < BESIDE ? 0 : 130,
    }),
    xAxis: valueAxis(theme, "", {
      axisLabel: {
        color: theme.muted,
        hideOverlap: true,
        formatter: (value: number) =>
          `${Number(value.toPrecision(4)).toLocaleString("en-US")} ${spec.unit}`,
      },
    }),
    yAxis: {
      type: "category",
      inverse: true,
      data: spec.names,
      axisLine: { lineStyle: { color: theme.line } },
      axisTick: { show: false },
      axisLabel: { color: theme.ink, width: room, overflow: "truncate", interval: 0 },
    },
    tooltip: tooltip(
      theme,
      (at: never) => {
        const found = at as { dataIndex: number; seriesIndex: number }[];
        const row = found[0]?.dataIndex ?? 0;
        const shown = spec.series.flatMap((series, index) => {
          const value = series.values[row];
          const words = { colour: colour(series, row), label: series.name };
          return value == null ? [] : [{ ...words, value: spec.show(value, index, row) }];
        });
        return tip(spec.names[row] ?? "", [...shown, ...(spec.also?.(row) ?? [])]);
      },
      { axisPointer: { type: "shadow", shadowStyle: { color: theme.line, opacity: 0.4 } } },
    ),
    series: [
      ...spec.series.map((series) => ({
        type: "bar" as const,
        name: series.name,
        ...(spec.stacked ? { stack: "all" } : {}),
        barMaxWidth: 16,
        barMinHeight: 1,
        itemStyle: { color: ({ dataIndex }: { dataIndex: number }) => colour(series, dataIndex) },
        ...(typeof series.colour === "string" ? { color: series.colour } : {}),
        data: series.values.map((value) => (value == null ? null : value / spec.divisor)),
      })),
      ...(spec.spans ? [whiskers(theme, spec)] : []),
    ] as never,
  };
}

function whiskers(theme: Theme, spec: BarsSpec): object {
  const data = (spec.spans ?? []).flatMap(({ low, high }, row) =>
    low == null || high == null ? [] : [[low / spec.divisor, row, high / spec.divisor]],
  );
  return {
    type: "custom",
    name: "interval",
    silent: true,
    z: 5,
    encode: { x: [0, 2], y: 1 },
    data,
    renderItem: (_: unknown, api: { value(at: number): number; coord(at: number[]): number[] }) => {
      const [x0 = 0, y = 0] = api.coord([api.value(0), api.value(1)]);
      const [x1 = 0] = api.coord([api.value(2), api.value(1)]);
      const stroke = { stroke: theme.ink, lineWidth: 1.5 };
      const part = (shape: object): object => ({ type: "line", shape, style: stroke });
      return {
        type: "group",
        children: [
          part({ x1: x0, x2: x1, y1: y, y2: y }),
          part({ x1: x0, x2: x0, y1: y - 5, y2: y + 5 }),
          part({ x1: x1, x2: x1, y1: y - 5, y2: y + 5 }),
        ],
      };
    },
  };
}
