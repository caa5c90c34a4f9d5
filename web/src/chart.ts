// A chart on the page: drawn when it comes near the window, again when the theme or its width
// changes; zoom by mouse, by touch and by buttons; SVG of what is shown.

import { download, el } from "./dom";
import { init, type ECharts, type Option } from "./echarts";
import { guarded } from "./harmless";
import { onTheme, shownTheme, type Theme } from "./theme";

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

export interface Chart {
  element: HTMLElement;
  redraw(): void;
  /** Gives it another height, and draws it. */
  resize(height: number): void;
}

const live = new Map<HTMLElement, { draw(): void; end(): void; resize(): void }>();
const near = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      near.unobserve(entry.target);
      live.get(entry.target as HTMLElement)?.draw();
    }
  },
  { rootMargin: "300px" },
);
const sizes = new ResizeObserver((entries) => {
  for (const entry of entries) live.get(entry.target as HTMLElement)?.resize();
});

// Every chart, seen or not: paper shows also what was not scrolled to.
onTheme(() => {
  for (const chart of live.values()) chart.draw();
});

/** Forgets the charts in a part of the page that is about to go. */
export function endCharts(within: HTMLElement): void {
  for (const [stage, chart] of live) {
    if (within.contains(stage)) chart.end();
  }
}

const SLIDER = 26;
const KEY_WIDTH = 190;
const KEY_HEIGHT = 20;
// Single quotes: the library puts it into attributes of an SVG as it is.
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

function base(theme: Theme): Option {
  return {
    animation: false,
    textStyle: { fontFamily: FONT, color: theme.ink },
    color: theme.series,
    backgroundColor: "transparent",
  };
}

export function chart(spec: ChartSpec): Chart {
  const stage = el("div", { class: "stage", role: "img", "aria-label": spec.label });
  let height = spec.height;
  stage.style.height = `${height}px`;
  let made: ECharts | null = null;

  const option = (theme: Theme): Option =>
    guarded({ ...base(theme), ...spec.option(theme, stage.clientWidth) });
  const draw = (): void => {
    if (stage.clientWidth === 0) return;
    const kept = made ? zoomOf(made) : [];
    if (made && made.getWidth() !== stage.clientWidth) made.resize();
    if (!made) {
      made = init(stage, null, { renderer: "canvas" });
      spec.wire?.(made, stage);
    }
    made.setOption(option(shownTheme()), { notMerge: true });
    rezoom(made, kept);
    stage.dataset.drawn = "yes";
  };
  live.set(stage, {
    draw,
    resize: () => {
      if (!made || stage.clientWidth === 0 || stage.clientWidth === made.getWidth()) return;
      made.resize();
      draw();
    },
    end: () => {
      made?.dispose();
      near.unobserve(stage);
      sizes.unobserve(stage);
      live.delete(stage);
    },
  });
  near.observe(stage);
  sizes.observe(stage);

  const save = (): void => {
    const theme = shownTheme();
    const width = Math.max(stage.clientWidth, 600);
    const key = keyed(spec.key?.(theme) ?? [], theme, width, height - (spec.zoom ? SLIDER : 0));
    const picture = init(null, null, { renderer: "svg", ssr: true, width, height: key.below });
    const shown = option(theme);
    // Paper has nothing to drag; where the slider was is room for the key.
    const still = ([shown.dataZoom ?? []].flat() as object[]).map((zoom) => ({
      ...zoom,
      show: false,
    }));
    const graphic = guarded(key.graphic) as never;
    picture.setOption({ ...shown, backgroundColor: theme.card, dataZoom: still, graphic });
    if (made) rezoom(picture, zoomOf(made));
    download(`${spec.file}.svg`, "image/svg+xml", picture.renderToSVGString());
    picture.dispose();
  };
  const zoom = (factor: number): void => {
    if (!made) draw();
    if (made) zoomBy(made, factor);
  };
  const button = (label: string, title: string, act: () => void): HTMLElement =>
    el("button", { type: "button", title, "aria-label": title, click: act }, label);
  const buttons = el(
    "div",
    { class: "tools" },
    spec.zoom && button("+", "Zoom in", () => zoom(0.5)),
    spec.zoom && button("−", "Zoom out", () => zoom(2)),
    spec.zoom && button("Whole run", "Show the whole run", () => zoom(Infinity)),
    button("SVG", "Save the chart as SVG", save),
  );
  const element = el("figure", { class: "chart" }, buttons, stage);
  return {
    element,
    redraw: () => made && draw(),
    resize: (wanted) => {
      height = wanted;
      stage.style.height = `${height}px`;
      made?.resize();
    },
  };
}

/** The key as drawings below the chart, and how high chart and key are together. */
function keyed(
  key: Key[],
  theme: Theme,
  width: number,
  height: number,
): { graphic: object[]; below: number } {
  const across = Math.max(1, Math.floor(width / KEY_WIDTH));
  const graphic = key.flatMap(({ colour, word }, at) => {
    const x = 10 + (at % across) * KEY_WIDTH;
    const y = height + Math.floor(at / across) * KEY_HEIGHT;
    const text = { text: word, x: x + 18, y: y + 1, fill: theme.ink, font: `12px ${FONT}` };
    const fit = { width: KEY_WIDTH - 30, overflow: "truncate" };
    return [
      {
        type: "rect",
        shape: { x, y, width: 12, height: 12 },
        style: { fill: colour },
        silent: true,
      },
      { type: "text", style: { ...text, ...fit }, silent: true },
    ];
  });
  const rows = Math.ceil(key.length / across);
  return { graphic, below: height + (rows > 0 ? rows * KEY_HEIGHT + 8 : 0) };
}

interface Zoom {
  start: number;
  end: number;
}

/** Per cent of the axis, of each zoom that the chart has. */
function zoomOf(made: ECharts): Zoom[] {
  const option = made.getOption() as { dataZoom?: Zoom[] } | undefined;
  return (option?.dataZoom ?? []).map(({ start, end }) => ({ start, end }));
}

function rezoom(made: ECharts, kept: Zoom[]): void {
  kept.forEach(({ start, end }, dataZoomIndex) => {
    if (start > 0 || end < 100)
      made.dispatchAction({ type: "dataZoom", dataZoomIndex, start, end });
  });
}

/** Around the middle of what is shown. */
function zoomBy(made: ECharts, factor: number): void {
  const [shown] = zoomOf(made);
  if (!shown) return;
  const [middle, half] = [(shown.start + shown.end) / 2, ((shown.end - shown.start) / 2) * factor];
  const start = Math.max(0, middle - half);
  const end = Math.min(100, middle + half);
  made.dispatchAction({ type: "dataZoom", dataZoomIndex: 0, start, end });
}
