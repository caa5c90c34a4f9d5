// What a chart shows: the page draws it, and a file of it shows the same.

import type { ECharts, Option } from "./echarts";
import type { Theme } from "./theme";

export interface ChartSpec {
  /** What it shows, for those who can't see it. */
  label: string;
  /** Name of the exported file, without its ending. */
  file: string;
  height: number;
  /** Buttons to zoom in time. */
  zoom?: boolean;
  option(theme: Theme, width: number): Option;
  /** What colours mean, where the page says it beside the chart: an exported picture brings it along. */
  key?(theme: Theme): Key[];
  /** Called once, when the chart is there. */
  wire?(chart: ECharts, stage: HTMLElement): void;
}

export interface Key {
  colour: string;
  word: string;
}
