// The parts of Apache ECharts that the page uses; the bundler leaves the others out.

import { BarChart, CustomChart, LineChart, SankeyChart } from "echarts/charts";
import {
  DataZoomComponent,
  GraphicComponent,
  GridComponent,
  LegendComponent,
  MarkLineComponent,
  TitleComponent,
  TooltipComponent,
} from "echarts/components";
import * as core from "echarts/core";
import { CanvasRenderer, SVGRenderer } from "echarts/renderers";

core.use([
  BarChart,
  CustomChart,
  LineChart,
  SankeyChart,
  DataZoomComponent,
  GraphicComponent,
  GridComponent,
  LegendComponent,
  MarkLineComponent,
  TitleComponent,
  TooltipComponent,
  CanvasRenderer,
  SVGRenderer,
]);

export { graphic, init } from "echarts/core";
export type { ECharts } from "echarts/core";
export type { EChartsOption as Option } from "echarts";
