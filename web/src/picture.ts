// A chart as a file: the same drawing as SVG or PNG, with what its colours mean below it, and without
// what can only be dragged.

import { el } from "./dom";
import { init, type ECharts, type Option } from "./echarts";
import { guarded } from "./harmless";
import type { ChartSpec, Key } from "./spec";
import type { Theme } from "./theme";

const SLIDER = 26;
const KEY_WIDTH = 190;
const KEY_HEIGHT = 20;
/** Pixels of a PNG for one of the page: paper and slides show more than a screen. */
const SHARPNESS = 2;
// Single quotes: the library puts it into attributes of an SVG as it is.
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

export interface Wanted {
  theme: Theme;
  width: number;
  height: number;
  /** Zooms as the page shows them. */
  zoomed(picture: ECharts): void;
}

export function optionOf(spec: ChartSpec, theme: Theme, width: number): Option {
  const base: Option = {
    animation: false,
    textStyle: { fontFamily: FONT, color: theme.ink },
    color: theme.series,
    backgroundColor: "transparent",
  };
  return guarded({ ...base, ...spec.option(theme, width) });
}

export function svgOf(spec: ChartSpec, wanted: Wanted): string {
  return drawn(spec, wanted, (size) =>
    init(null, null, { renderer: "svg", ssr: true, ...size }),
  ).as((picture) => picture.renderToSVGString());
}

export function pngOf(spec: ChartSpec, wanted: Wanted): Blob {
  const paper = el("div");
  const canvas = { renderer: "canvas", devicePixelRatio: SHARPNESS } as const;
  const url = drawn(spec, wanted, (size) => init(paper, null, { ...canvas, ...size })).as(
    (picture) => picture.getDataURL({ type: "png", pixelRatio: SHARPNESS }),
  );
  const bytes = atob(url.slice(url.indexOf(",") + 1));
  return new Blob([Uint8Array.from(bytes, (char) => char.charCodeAt(0))], { type: "image/png" });
}

function drawn(
  spec: ChartSpec,
  { theme, width, height, zoomed }: Wanted,
  begin: (size: { width: number; height: number }) => ECharts,
): { as<T>(kind: (picture: ECharts) => T): T } {
  const key = keyed(spec.key?.(theme) ?? [], theme, width, height - (spec.zoom ? SLIDER : 0));
  const picture = begin({ width, height: key.below });
  const shown = optionOf(spec, theme, width);
  // Paper has nothing to drag; where the slider was is room for the key.
  const still = ([shown.dataZoom ?? []].flat() as object[]).map((zoom) => ({
    ...zoom,
    show: false,
  }));
  const graphic = guarded(key.graphic) as never;
  picture.setOption({ ...shown, backgroundColor: theme.card, dataZoom: still, graphic });
  zoomed(picture);
  return {
    as: (kind) => {
      const made = kind(picture);
      picture.dispose();
      return made;
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
