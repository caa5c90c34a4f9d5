// How full each storage was over time, against what it holds.

import { chart } from "../chart";
import { amounts, counts, paths, words } from "../columns";
import { el } from "../dom";
import type { Panel } from "../panel";
import type { TierUse } from "../report";
import { type Row, stack, stackHeight } from "../stack";
import { table } from "../table";
import type { Theme } from "../theme";
import { bytes, share } from "../units";
import { type View, largest, most } from "../view";

export const tiers: Panel = {
  id: "tiers",
  title: "Tiers",
  short: "Tiers",
  shows: "What the files of the run took on each storage over time, against its limit.",
  draw(view) {
    const data = view.panel("tiers");
    if (typeof data === "string") return data;
    if (data.rows.length === 0) return "No storage was used.";
    return {
      notable: notable(view, data),
      body: [draw(view, data), rows(view, data)],
      ...(data.notes ? { notes: data.notes } : {}),
    };
  },
};

function notable(view: View, { rows }: TierUse): string | null {
  const fill = rows.map(({ peak_bytes, limit_bytes }) =>
    limit_bytes && peak_bytes ? peak_bytes / limit_bytes : null,
  );
  const fullest = rows[largest(fill)];
  if (fullest) {
    const of = share(fullest.peak_bytes / (fullest.limit_bytes ?? 1));
    return `Fullest: “${view.tier(fullest.tier)}”, with ${bytes(fullest.peak_bytes)}, ${of} of its limit.`;
  }
  const most_ = rows[largest(rows.map(({ peak_bytes }) => peak_bytes))];
  if (!most_ || most_.peak_bytes === 0) return null;
  return `The run's files took at most ${bytes(most_.peak_bytes)} ${view.where(most_.tier)}.`;
}

/** Storages that held something; all, if none did. */
function used({ rows }: TierUse): TierUse["rows"] {
  const found = rows.filter(({ peak_bytes }) => peak_bytes > 0);
  return found.length > 0 ? found : rows;
}

function draw(view: View, data: TierUse): HTMLElement {
  const made = (theme: Theme): Row[] =>
    used(data).map((row, at) => ({
      title: view.tier(row.tier) || "unknown storage",
      measure: "bytes",
      height: 90,
      lines: [
        {
          name: view.tier(row.tier) || "unknown storage",
          colour: theme.series?.[at % theme.series.length] ?? "",
          values: row.used_bytes,
          filled: true,
        },
      ],
      // A limit far above what was used would press the curve into the floor.
      level:
        row.limit_bytes != null && row.limit_bytes <= 4 * row.peak_bytes
          ? { at: row.limit_bytes, name: `limit ${bytes(row.limit_bytes)}` }
          : null,
    }));
  return chart({
    label: "Bytes on each storage over time",
    file: view.file("tiers"),
    height: stackHeight(made({} as Theme)),
    zoom: true,
    option: (theme, width) => stack(theme, made(theme), view.run.wall_us, data.bin_us, width),
  }).element;
}

function rows(view: View, { rows }: TierUse): HTMLElement {
  const { tiers } = view.run;
  return el(
    "div",
    {},
    table({
      caption: "Storages",
      file: view.file("tiers"),
      rows: rows.length,
      columns: [
        words("Storage", (row) => view.tier(rows[row]?.tier)),
        words("File system", (row) => view.text(tiers.fs[rows[row]?.tier ?? -1])),
        paths("Path", (row) => view.text(tiers.path[rows[row]?.tier ?? -1])),
        amounts(
          "At most",
          rows.map(({ peak_bytes }) => peak_bytes),
          "",
          true,
        ),
        amounts(
          "Limit",
          rows.map(({ limit_bytes }) => limit_bytes),
        ),
        counts(
          "Files at most",
          rows.map(({ files }) => Math.round(most(files))),
        ),
      ],
    }),
  );
}
