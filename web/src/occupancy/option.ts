// The occupancy chart as ECharts' option: lanes of tasks above, how many run at a time below.

import { binned, line, timeAxis, timeZoom, valueAxis } from "../axes";
import type { Theme } from "../colours";
import type { Option } from "../echarts";
import { type Rectangles, rectangles } from "./marks";
import { faintness, type Scene } from "./scene";

const LEFT = 40;
const RIGHT = 28;
const TOP = 26;
const BELOW = 92;
const BETWEEN = 54;
const BOTTOM = 42;
const NARROW = 420;

export function lanesHeight(lanes: number): number {
  return Math.round(Math.min(560, Math.max(60, lanes * Math.max(6, Math.min(22, 560 / lanes)))));
}

export function occupancyHeight(lanes: number): number {
  return TOP + lanesHeight(lanes) + BETWEEN + BELOW + BOTTOM;
}

interface Api {
  coord(at: [number, number]): number[];
}
interface Box {
  coordSys: { x: number; y: number; width: number; height: number };
}

export function occupancyOption(scene: Scene, theme: Theme, width: number): Option {
  const { data, lanes } = scene;
  const groups = scene.groups(theme);
  const height = lanesHeight(lanes);
  const { busy } = data;
  const cores = data.cpus;
  const top = busy.running.reduce<number>((best, value) => Math.max(best, value ?? 0), 0);
  let drawn: { key: string; marks: Rectangles[] } = { key: "", marks: [] };
  const marks = {
    type: "custom",
    name: "tasks",
    xAxisIndex: 0,
    yAxisIndex: 0,
    clip: true,
    silent: true,
    // One item for each colour: its extent is the axis', which is fixed.
    data: groups.map(() => [0, 0]),
    renderItem: ({ coordSys, dataIndex }: Box & { dataIndex: number }, api: Api) => {
      const group = groups[dataIndex];
      if (!group) return null;
      const [zero = 0, laneTop = 0] = api.coord([0, 0]);
      const [ahead = 0, nextTop = 0] = api.coord([1000, 1]);
      const place = {
        x: coordSys.x,
        right: coordSys.x + coordSys.width,
        perUs: (ahead - zero) / 1e6,
        zero,
        top: laneTop,
        laneHeight: nextTop - laneTop,
      };
      // Made for all colours together, when the first is drawn or the place has changed.
      const key = Object.values(place).join();
      if (key !== drawn.key) drawn = { key, marks: rectangles(scene.rows, groups, place) };
      return {
        type: "marks",
        shape: drawn.marks[dataIndex] ?? { flat: [] },
        style: { fill: group.colour, opacity: faintness(group) },
      };
    },
  };
  const title = (text: string, at: number): object => ({
    text,
    left: 0,
    padding: 0,
    top: at,
    textStyle: { fontSize: 12, fontWeight: 600, color: theme.ink },
  });
  return {
    title: [
      title(lanes === 1 ? "Tasks" : `Tasks in ${lanes} lanes`, 4),
      title("Tasks under way", TOP + height + 30),
    ],
    grid: [
      { outerBoundsMode: "none", left: LEFT, right: RIGHT, top: TOP, height },
      {
        outerBoundsMode: "none",
        left: LEFT,
        right: RIGHT,
        top: TOP + height + BETWEEN,
        height: BELOW,
      },
    ],
    xAxis: [
      timeAxis(theme, data.wall_us, { gridIndex: 0 }),
      timeAxis(theme, data.wall_us, { gridIndex: 1, axisLabel: { show: false } }),
    ],
    yAxis: [
      {
        type: "value",
        inverse: true,
        min: 0,
        max: lanes,
        minInterval: 1,
        axisLabel: { show: false },
        axisLine: { show: true, lineStyle: { color: theme.line } },
        splitLine: { show: false },
      },
      valueAxis(theme, "", {
        gridIndex: 1,
        splitNumber: 3,
        minInterval: 1,
        ...(cores != null && cores <= 2 * Math.max(top, 1)
          ? { max: Math.ceil(Math.max(cores, top) * 1.1) }
          : {}),
      }),
    ],
    dataZoom: [
      ...timeZoom(theme, [0, 1]),
      ...(lanes > 60
        ? [
            {
              type: "inside",
              yAxisIndex: 0,
              filterMode: "none",
              zoomOnMouseWheel: "shift",
              moveOnMouseMove: true,
            },
          ]
        : []),
    ],
    legend: {
      data: ["Running", "Waiting for storage"],
      left: width < NARROW ? 108 : 130,
      itemGap: width < NARROW ? 6 : 10,
      top: TOP + height + 25,
      itemWidth: 14,
      itemHeight: 9,
      icon: "roundRect",
      textStyle: { color: theme.ink, fontSize: width < NARROW ? 11 : 12 },
      inactiveColor: theme.others,
      show: busy.waiting != null,
    },
    series: [
      marks,
      {
        ...line("Running", theme.cool, binned(busy.running, busy.bin_us, { unit: "", divisor: 1 })),
        xAxisIndex: 1,
        yAxisIndex: 1,
        areaStyle: { color: theme.cool, opacity: 0.3 },
        silent: true,
        ...(cores == null ? {} : { markLine: coresLine(theme, cores) }),
      },
      ...(busy.waiting
        ? [
            {
              ...line(
                "Waiting for storage",
                theme.written,
                binned(busy.waiting, busy.bin_us, { unit: "", divisor: 1 }),
              ),
              xAxisIndex: 1,
              yAxisIndex: 1,
              areaStyle: { color: theme.written, opacity: 0.5 },
              silent: true,
            },
          ]
        : []),
    ] as never,
  };
}

function coresLine(theme: Theme, cores: number): object {
  return {
    silent: true,
    symbol: "none",
    lineStyle: { color: theme.muted, type: "dashed", width: 1 },
    label: { formatter: `${cores} cores`, position: "insideEndTop", color: theme.muted },
    data: [{ yAxis: cores }],
  };
}
