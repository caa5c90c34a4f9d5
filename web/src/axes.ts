// Parts that charts share: axes in round units, tooltips made of elements, zoom in time.

import type { Theme } from "./colours";
import { el, swatch, type Child } from "./dom";
import type { Option } from "./echarts";
import { moment, type Scale } from "./units";

/** Time since the start; data are milliseconds. */
export function timeAxis(theme: Theme, wallUs: number, more: object = {}): object {
  return {
    type: "time",
    min: 0,
    max: Math.max(wallUs / 1000, 1),
    axisLabel: {
      color: theme.muted,
      hideOverlap: true,
      formatter: (ms: number) => moment(ms / 1000),
    },
    axisLine: { lineStyle: { color: theme.line } },
    axisTick: { lineStyle: { color: theme.line } },
    splitLine: { show: false },
    ...more,
  };
}

export function valueAxis(theme: Theme, name: string, more: object = {}): object {
  return {
    type: "value",
    name,
    nameTextStyle: { color: theme.muted, align: "left", padding: [0, 0, 0, -30] },
    nameGap: 12,
    min: 0,
    axisLabel: { color: theme.muted, hideOverlap: true },
    splitLine: { lineStyle: { color: theme.line } },
    ...more,
  };
}

export function legend(theme: Theme, more: object = {}): object {
  return {
    type: "scroll",
    top: 0,
    left: 0,
    itemWidth: 14,
    itemHeight: 9,
    icon: "roundRect",
    textStyle: { color: theme.ink },
    inactiveColor: theme.others,
    pageTextStyle: { color: theme.muted },
    ...more,
  };
}

/** Zoom by wheel with Ctrl (the wheel alone scrolls the page), by dragging, and by the slider. */
export function timeZoom(theme: Theme, axes: number[], bottom = 6): object[] {
  return [
    {
      type: "slider",
      xAxisIndex: axes,
      filterMode: "none",
      bottom,
      height: 18,
      borderColor: theme.line,
      backgroundColor: "transparent",
      fillerColor: theme.dark ? "rgba(86,180,233,0.16)" : "rgba(0,114,178,0.10)",
      handleStyle: { color: theme.card, borderColor: theme.muted },
      moveHandleSize: 0,
      showDataShadow: false,
      brushSelect: false,
      labelFormatter: (ms: number) => moment(Math.round(ms) / 1000),
      textStyle: { color: theme.muted },
    },
    {
      type: "inside",
      xAxisIndex: axes,
      filterMode: "none",
      zoomOnMouseWheel: "ctrl",
      moveOnMouseWheel: false,
      preventDefaultMouseMove: false,
    },
  ];
}

export interface TipRow {
  colour?: string;
  label: string;
  value: string;
}

/** A tooltip of elements: nothing in it is ever read as markup. */
export function tip(title: string, rows: TipRow[], ...more: Child[]): HTMLElement {
  return el(
    "div",
    { class: "tip" },
    el("div", { class: "tip-title" }, title),
    el(
      "dl",
      {},
      ...rows.map(({ colour, label, value }) =>
        el("div", {}, el("dt", {}, colour ? swatch(colour) : null, label), el("dd", {}, value)),
      ),
    ),
    ...more,
  );
}

export function tooltip(
  theme: Theme,
  formatter: (at: never) => HTMLElement,
  more: object = {},
): object {
  return {
    trigger: "axis",
    confine: true,
    transitionDuration: 0,
    backgroundColor: theme.card,
    borderColor: theme.line,
    textStyle: { color: theme.ink },
    axisPointer: { lineStyle: { color: theme.muted }, label: { show: false } },
    padding: 0,
    formatter,
    ...more,
  };
}

/** What ECharts hands to a formatter for each series at the pointer. */
export interface At {
  seriesName: string;
  color: string;
  value: [number, number | null];
}

/** The tooltip of lines over time. */
export function timeTooltip(theme: Theme, show: (value: number, series: string) => string): object {
  return tooltip(theme, (at: never) => {
    const found = at as At[];
    const rows = found
      .filter(({ value }) => value[1] != null)
      .map(({ seriesName, color, value }) => ({
        colour: color,
        label: seriesName,
        value: show(value[1] ?? 0, seriesName),
      }));
    return tip(moment(Math.round(found[0]?.value[0] ?? 0) / 1000), rows);
  });
}

/** Pairs of milliseconds and a value in its unit, as steps that begin at each bin. */
export function binned(
  values: (number | null)[],
  binUs: number,
  scale: Scale,
): [number, number | null][] {
  const pairs = values.map((value, bin): [number, number | null] => [
    (bin * binUs) / 1000,
    value == null ? null : value / scale.divisor,
  ]);
  const last = pairs.at(-1);
  if (last) pairs.push([(values.length * binUs) / 1000, last[1]]);
  return pairs;
}

export function line(name: string, colour: string, data: unknown[], more: object = {}): object {
  return {
    type: "line",
    name,
    data,
    showSymbol: false,
    step: "end",
    lineStyle: { width: 1.5, color: colour },
    itemStyle: { color: colour },
    emphasis: { disabled: true },
    sampling: "lttb",
    ...more,
  };
}

/** A line that fills what is below it. */
export function area(colour: string, opacity = 0.25): object {
  return { areaStyle: { color: colour, opacity } };
}

export type Series = NonNullable<Option["series"]>;
