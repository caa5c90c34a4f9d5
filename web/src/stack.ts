// Several charts over one axis of time, below each other, zoomed together.

import { binned, legend, line, timeAxis, timeTooltip, timeZoom, valueAxis } from "./axes";
import type { Theme } from "./colours";
import type { Option } from "./echarts";
import { harmless } from "./harmless";
import { most } from "./view";
import { byteScale, bytes, count, rate, share, type Scale } from "./units";

export type Measure = "bytes" | "rate" | "count" | "per second" | "share";

export interface Line {
  name: string;
  colour: string;
  values: (number | null)[];
  /** Ends of the intervals; without them `values` are bins of `binUs`. */
  atUs?: number[];
  /** How long the first interval is. */
  firstUs?: number;
  filled?: boolean;
  /** On top of the others of its row. */
  stacked?: boolean;
  dashed?: boolean;
}

export interface Row {
  title: string;
  measure: Measure;
  lines: Line[];
  /** A level to draw: a limit, a number of cores. */
  level?: { at: number; name: string } | null;
  /** The axis goes at least so far. */
  atLeast?: number;
  height?: number;
}

const LEFT = 76;
const TOP = 30;
const GAP = 52;
const BOTTOM = 54;
const HEIGHT = 110;

export function stackHeight(rows: Row[]): number {
  const all = rows.reduce((total, row) => total + (row.height ?? HEIGHT) + GAP, 0);
  return all - GAP + TOP + BOTTOM + 4;
}

function scaleOf(row: Row): Scale {
  const top = row.lines.reduce(
    (best, { values }) => Math.max(best, most(values)),
    row.level?.at ?? 0,
  );
  if (row.measure === "bytes") return byteScale(top);
  if (row.measure === "rate") {
    const scale = byteScale(top);
    return { ...scale, unit: `${scale.unit}/s` };
  }
  if (row.measure === "share") return { unit: "%", divisor: 0.01 };
  return { unit: row.measure === "count" ? "" : "/s", divisor: 1 };
}

function told(row: Row, scale: Scale, value: number): string {
  const whole = value * scale.divisor;
  if (row.measure === "bytes") return bytes(whole);
  if (row.measure === "rate") return rate(whole);
  if (row.measure === "share") return share(whole);
  return row.measure === "count" ? count(whole) : `${count(whole)}/s`;
}

export function stack(
  theme: Theme,
  rows: Row[],
  wallUs: number,
  binUs: number,
  width: number,
): Option {
  const scales = rows.map(scaleOf);
  const of = (name: string): number =>
    rows.findIndex(({ lines }) => lines.some((l) => harmless(l.name) === name));
  let top = TOP;
  const tops = rows.map((row) => {
    const at = top;
    top += (row.height ?? HEIGHT) + GAP;
    return at;
  });
  const axes = rows.map((_, index) => index);
  const series = rows.flatMap((row, index) =>
    row.lines.map((l, nth) => {
      const scale = scales[index] ?? { unit: "", divisor: 1 };
      const data = l.atUs ? sampled(l, scale) : binned(l.values, binUs, scale);
      return line(l.name, l.colour, data, {
        xAxisIndex: index,
        yAxisIndex: index,
        ...(l.atUs ? { step: "start" } : {}),
        ...(l.filled ? { areaStyle: { color: l.colour, opacity: l.stacked ? 0.55 : 0.22 } } : {}),
        ...(l.stacked ? { stack: `row${index}` } : {}),
        lineStyle: {
          width: l.stacked ? 0.5 : 1.5,
          color: l.colour,
          type: l.dashed ? "dashed" : "solid",
        },
        ...(nth === 0 && row.level ? { markLine: level(theme, row.level, scale) } : {}),
      });
    }),
  );
  return {
    grid: rows.map((row, index) => ({
      outerBoundsMode: "none" as const,
      left: LEFT,
      right: 28,
      top: tops[index] ?? 0,
      height: row.height ?? HEIGHT,
    })),
    xAxis: rows.map((_, index) =>
      timeAxis(theme, wallUs, {
        gridIndex: index,
        axisLabel: {
          ...(timeAxis(theme, wallUs) as { axisLabel: object }).axisLabel,
          show: index === rows.length - 1,
        },
      }),
    ),
    yAxis: rows.map((row, index) =>
      valueAxis(theme, "", {
        gridIndex: index,
        splitNumber: 3,
        axisLabel: {
          color: theme.muted,
          formatter: (value: number) => ticked(value, scales[index]),
          // The end of the axis is then no round number.
          ...(row.atLeast || row.level ? { showMaxLabel: false } : {}),
        },
        ...(row.measure === "share" ? { max: 100, interval: 50 } : {}),
        ...(row.atLeast || row.level ? { max: atLeast(row, scales[index]) } : {}),
      }),
    ),
    title: rows.map((row, index) => ({
      text: row.title,
      left: 0,
      padding: 0,
      top: (tops[index] ?? 0) - 25,
      textStyle: { fontSize: 12, fontWeight: 600, color: theme.ink },
    })),
    legend: rows.map((row, index) =>
      legend(theme, {
        type: "plain",
        data: row.lines.map(({ name }) => name),
        left: Math.max(LEFT - 5, 7.4 * row.title.length + 12),
        top: (tops[index] ?? 0) - 30,
        show: row.lines.length > 1 && width > 420,
      }),
    ),
    axisPointer: { link: [{ xAxisIndex: "all" }] },
    tooltip: timeTooltip(theme, (value, name) => {
      const row = of(name);
      const [found, scale] = [rows[row], scales[row]];
      return found && scale ? told(found, scale, value) : count(value);
    }),
    dataZoom: timeZoom(theme, axes),
    series: series as never,
  };
}

/** A sample is of the time since the one before it; the first begins its interval. */
function sampled(l: Line, scale: Scale): [number, number | null][] {
  const at = l.atUs ?? [];
  const begin = Math.max(0, (at[0] ?? 0) - (l.firstUs ?? 0));
  const scaled = (value: number | null | undefined): number | null =>
    value == null ? null : value / scale.divisor;
  const points = l.values.map((value, index): [number, number | null] => [
    (at[index] ?? 0) / 1000,
    scaled(value),
  ]);
  return points.length > 0 ? [[begin / 1000, scaled(l.values[0])], ...points] : [];
}

function ticked(value: number, scale: Scale | undefined): string {
  const number = Number.isInteger(value) ? count(value) : String(Number(value.toPrecision(3)));
  return scale?.unit ? `${number} ${scale.unit}` : number;
}

function atLeast(row: Row, scale: Scale | undefined): (axis: { max: number }) => number {
  const low = Math.max(row.atLeast ?? 0, (row.level?.at ?? 0) * 1.08) / (scale?.divisor ?? 1);
  return ({ max }) => Number((max > low ? max : low).toPrecision(3));
}

function level(theme: Theme, { at, name }: { at: number; name: string }, scale: Scale): object {
  return {
    silent: true,
    symbol: "none",
    lineStyle: { color: theme.warning, type: "dashed", width: 1 },
    label: { formatter: () => name, position: "insideEndTop", color: theme.warning },
    data: [{ yAxis: at / scale.divisor }],
  };
}
