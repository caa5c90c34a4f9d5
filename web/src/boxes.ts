// Lying boxes: for each name a line from the least to the greatest, a box of the middle half, and a
// stroke for the median.

import { tip, tooltip, valueAxis } from "./axes";
import type { Theme } from "./colours";
import type { Option } from "./echarts";
import type { Spread } from "./spread";
import { many, type Scale } from "./units";

export interface BoxesSpec {
  names: string[];
  spreads: (Spread | null)[];
  colour(row: number): string;
  scale: Scale;
  /** Steps of the axis where kinds differ so much that a straight one would show the largest alone. */
  base: number;
  show(value: number): string;
}

const ROW = 26;
/** Of the medians, the greatest by the least. */
const FAR = 50;

export function boxesHeight(names: number): number {
  return names * ROW + 66;
}

/** Whether the axis goes in powers. */
export function wide(spreads: (Spread | null)[]): boolean {
  const medians = spreads.flatMap((found) => (found && found.median > 0 ? [found.median] : []));
  return medians.length > 1 && Math.max(...medians) > FAR * Math.min(...medians);
}

interface Api {
  value(at: number): number;
  coord(at: number[]): number[];
}

export function boxes(theme: Theme, spec: BoxesSpec, width: number): Option {
  const { names, spreads, scale, base } = spec;
  const longest = names.reduce((best, name) => Math.max(best, name.length), 0);
  const room = Math.min(Math.max(40, 7.6 * longest + 8), 300, width * 0.34);
  const far = wide(spreads);
  const positive = spreads.flatMap((found) =>
    found ? [found.least, found.lower, found.median].filter((value) => value > 0) : [],
  );
  // 0 has no place on an axis of powers: it is drawn at its start.
  const floor = base ** Math.floor(Math.log(Math.min(...positive, 1e15)) / Math.log(base));
  const drawn = (value: number): number => (far ? Math.max(value, floor) : value / scale.divisor);
  const rows = spreads.flatMap((found, row) => (found ? [{ found, row }] : []));
  const label = { color: theme.muted, hideOverlap: true };
  return {
    grid: { outerBoundsMode: "none", left: room + 12, right: 34, top: 30, bottom: 34 },
    xAxis: far
      ? valueAxis(theme, "", {
          type: "log",
          logBase: base,
          min: floor,
          axisLabel: { ...label, formatter: (value: number) => spec.show(value) },
        })
      : valueAxis(theme, "", {
          axisLabel: {
            ...label,
            formatter: (value: number) =>
              `${Number(value.toPrecision(4)).toLocaleString("en-US")} ${scale.unit}`,
          },
        }),
    yAxis: {
      type: "category",
      inverse: true,
      data: names,
      axisLine: { lineStyle: { color: theme.line } },
      axisTick: { show: false },
      axisLabel: { color: theme.ink, width: room, overflow: "truncate", interval: 0 },
    },
    tooltip: tooltip(
      theme,
      (at: never) => {
        const row = rows[(at as { dataIndex: number }[])[0]?.dataIndex ?? 0];
        if (!row) return tip("", []);
        const { seen, greatest, upper, median, lower, least } = row.found;
        const lines = { Max: greatest, "75 %": upper, Median: median, "25 %": lower, Min: least };
        return tip(
          `${names[row.row] ?? ""}: ${many(seen, "task")}`,
          Object.entries(lines).map(([label, value]) => ({ label, value: spec.show(value) })),
        );
      },
      { axisPointer: { type: "shadow", shadowStyle: { color: theme.line, opacity: 0.4 } } },
    ),
    series: [
      {
        type: "custom",
        name: "spread",
        encode: { x: [1, 2, 3, 4, 5], y: 0 },
        data: rows.map(({ found, row }) => [
          row,
          ...[found.least, found.lower, found.median, found.upper, found.greatest].map(drawn),
        ]),
        renderItem: (_: unknown, api: Api) => {
          const row = api.value(0);
          const x = (part: number): number => api.coord([api.value(part), row])[0] ?? 0;
          const y = api.coord([api.value(1), row])[1] ?? 0;
          const line = (
            x1: number,
            x2: number,
            half: number,
            stroke: string,
            lineWidth = 1,
          ): object => ({
            type: "line",
            shape: { x1, x2, y1: y - half, y2: y + half },
            style: { stroke, lineWidth },
          });
          const fill = spec.colour(row);
          return {
            type: "group",
            children: [
              line(x(1), x(5), 0, theme.muted),
              line(x(1), x(1), 4, theme.muted),
              line(x(5), x(5), 4, theme.muted),
              {
                type: "rect",
                shape: { x: x(2), y: y - 7, width: Math.max(1, x(4) - x(2)), height: 14 },
                style: { fill, opacity: 0.75 },
              },
              line(x(3), x(3), 8, theme.ink, 2),
            ],
          };
        },
      },
    ] as never,
  };
}
