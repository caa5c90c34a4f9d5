// A chart on the page: drawn when it comes near the window, again when the theme or its width
// changes; zoom by mouse, by touch and by buttons; SVG and PNG of what is shown.

import { download, el } from "./dom";
import { init, type ECharts } from "./echarts";
import { WHOLE, type Period, isWhole, onPeriod, shownPeriod, showPeriod } from "./period";
import { optionOf, pngOf, svgOf } from "./picture";
import type { ChartSpec } from "./spec";
import { onTheme, shownTheme } from "./theme";

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

export function chart(spec: ChartSpec): Chart {
  const stage = el("div", { class: "stage", role: "img", "aria-label": spec.label });
  let height = spec.height;
  stage.style.height = `${height}px`;
  let made: ECharts | null = null;
  let late = 0;

  const draw = (): void => {
    if (stage.clientWidth === 0) return;
    const kept = made ? zoomOf(made) : [];
    if (made && made.getWidth() !== stage.clientWidth) made.resize();
    if (!made) {
      made = init(stage, null, { renderer: "canvas" });
      spec.wire?.(made, stage);
      if (spec.zoom) made.on("datazoom", () => void (made && showPeriod(periodOf(made), stage)));
    }
    made.setOption(optionOf(spec, shownTheme(), stage.clientWidth), { notMerge: true });
    rezoom(made, kept, spec.zoom);
    stage.dataset.drawn = "yes";
  };
  // Charts that only follow do so when the hand rests: each would be drawn at every step.
  const unfollow = onPeriod((period, by) => {
    clearTimeout(late);
    if (spec.zoom && made && by !== stage) late = setTimeout(() => made && show(made, period), 80);
  });
  live.set(stage, {
    draw,
    resize: () => {
      if (!made || stage.clientWidth === 0 || stage.clientWidth === made.getWidth()) return;
      made.resize();
      draw();
    },
    end: () => {
      unfollow();
      clearTimeout(late);
      made?.dispose();
      made = null;
      near.unobserve(stage);
      sizes.unobserve(stage);
      live.delete(stage);
    },
  });
  near.observe(stage);
  sizes.observe(stage);

  const save = (kind: "svg" | "png"): void => {
    const width = Math.max(stage.clientWidth, 600);
    const zoomed = (picture: ECharts): void => {
      rezoom(picture, made ? zoomOf(made) : [], spec.zoom);
    };
    const wanted = { theme: shownTheme(), width, height, zoomed };
    const name = `${spec.file}.${kind}`;
    if (kind === "svg") download(name, "image/svg+xml", svgOf(spec, wanted));
    else download(name, "image/png", pngOf(spec, wanted));
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
    button("SVG", "Save the chart as SVG", () => save("svg")),
    button("PNG", "Save the chart as PNG", () => save("png")),
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

/** Per cent of the axis, of each zoom that the chart has. */
function zoomOf(made: ECharts): Period[] {
  const option = made.getOption() as { dataZoom?: Period[] } | undefined;
  return (option?.dataZoom ?? []).map(({ start, end }) => ({ start, end }));
}

function periodOf(made: ECharts): Period {
  return zoomOf(made)[0] ?? WHOLE;
}

/** The first two zooms are those of time (`timeZoom`), and show what the page does. */
function rezoom(made: ECharts, kept: Period[], timed = false): void {
  kept.forEach(({ start, end }, dataZoomIndex) => {
    if (timed && dataZoomIndex < 2) return;
    if (start > 0 || end < 100)
      made.dispatchAction({ type: "dataZoom", dataZoomIndex, start, end });
  });
  if (timed && !isWhole(shownPeriod())) show(made, shownPeriod());
}

function show(made: ECharts, { start, end }: Period): void {
  made.dispatchAction({ type: "dataZoom", dataZoomIndex: 0, start, end });
}

/** Around the middle of what is shown. */
function zoomBy(made: ECharts, factor: number): void {
  const shown = periodOf(made);
  const [middle, half] = [(shown.start + shown.end) / 2, ((shown.end - shown.start) / 2) * factor];
  show(made, { start: Math.max(0, middle - half), end: Math.min(100, middle + half) });
}
