// The files that cost most: who wrote them, who read them, where they lived and where they should.

import { bars, barsHeight } from "../bars";
import { chart } from "../chart";
import { amounts, bounded, counts, limits, paths, times, words } from "../columns";
import { el } from "../dom";
import type { Panel } from "../panel";
import type { Files } from "../report";
import { table } from "../table";
import { byteScale, bytes, many, moment, seconds, timeScale } from "../units";
import { type View, most } from "../view";

const SHOWN = 12;

export const files: Panel = {
  id: "files",
  title: "Files by cost",
  short: "Files",
  shows:
    "The files that cost most: who wrote and read them, where they lived, and where they should live.",
  draw(view) {
    const data = view.panel("files");
    if (typeof data === "string") return data;
    if (data.rows.n === 0) return "No file was seen.";
    const left = data.of - data.rows.n;
    const rest = left > 0 ? [`${many(left, "file")} that cost less are not listed.`] : [];
    return {
      notable: notable(view, data),
      body: [draw(view, data), rows(view, data)],
      notes: [...(data.notes ?? []), ...rest],
    };
  },
};

function notable(view: View, { rows, ranked_by }: Files): string {
  const path = view.text(rows.path[0]);
  const opens = rows.opens[0] == null ? "" : `, opened ${many(rows.opens[0], "time")}`;
  if (ranked_by === "time") {
    return `Programs waited longest for “${path}”: ${seconds((rows.time_us[0] ?? 0) / 1e6)}${opens}.`;
  }
  const read = rows.read_bytes[0] ?? rows.read_at_least_bytes[0] ?? 0;
  const written = rows.written_bytes[0] ?? rows.written_at_least_bytes[0] ?? 0;
  const sure = rows.read_bytes[0] != null && rows.written_bytes[0] != null;
  return `Most bytes went through “${path}”: ${sure ? "" : "at least "}${bytes(read + written)}${opens}.`;
}

/** The end of a path says most. */
function tail(path: string): string {
  return path.length <= 44 ? path : `…${path.slice(-43)}`;
}

function draw(view: View, { rows, ranked_by }: Files): HTMLElement {
  const shown = Array.from({ length: Math.min(rows.n, SHOWN) }, (_, row) => row);
  const names = shown.map((row) => tail(view.text(rows.path[row])));
  const byTime = ranked_by === "time";
  const both = shown.map((row) => (rows.read_bytes[row] ?? 0) + (rows.written_bytes[row] ?? 0));
  const scale = byTime ? timeScale(most(rows.time_us) / 1e6) : byteScale(most(both));
  return chart({
    label: byTime
      ? "Time that programs waited for each file"
      : "Bytes read and written of each file",
    file: view.file("files"),
    height: barsHeight(shown.length, 1, true),
    option: (theme, width) =>
      bars(
        theme,
        {
          names,
          series: byTime
            ? [{ name: "Waited", colour: theme.written, values: rows.time_us.slice(0, SHOWN) }]
            : [
                { name: "Read", colour: theme.read, values: rows.read_bytes.slice(0, SHOWN) },
                {
                  name: "Written",
                  colour: theme.written,
                  values: rows.written_bytes.slice(0, SHOWN),
                },
              ],
          stacked: true,
          unit: scale.unit,
          divisor: byTime ? scale.divisor * 1e6 : scale.divisor,
          show: (value) => (byTime ? seconds(value / 1e6) : bytes(value)),
        },
        width,
      ),
  }).element;
}

function rows(view: View, { rows }: Files): HTMLElement {
  return table({
    caption: "Files",
    file: view.file("files"),
    rows: rows.n,
    columns: [
      paths("File", (row) => view.text(rows.path[row])),
      amounts("Size", rows.size_bytes),
      times("Time", rows.time_us, "That programs waited for it, estimated", true),
      counts("Opens", rows.opens, "", true),
      bounded("Read", rows.read_bytes, rows.read_at_least_bytes),
      bounded("Written", rows.written_bytes, rows.written_at_least_bytes),
      words("Written by", (row) => who(view, rows.wrote[row], rows.writers[row])),
      words("Read by", (row) => who(view, rows.read[row], rows.readers[row])),
      words("Lived on", (row) => view.tier(rows.lived[row])),
      {
        title: "Removed at",
        csv: "Removed at (s)",
        hint: "Time since the start of the run; a dash: it stayed, or that was not seen",
        value: (row) => (rows.gone_us[row] == null ? null : (rows.gone_us[row] ?? 0) / 1e6),
        show: (row) => moment(Math.round((rows.gone_us[row] ?? 0) / 1e6)),
      },
      {
        ...words("Should live", (row) => view.text(rows.should[row])),
        show: (row) =>
          el("span", {}, view.text(rows.should[row]), el("small", {}, view.text(rows.why[row]))),
      },
      { ...words("Why", (row) => view.text(rows.why[row])), unseen: true },
      ...limits("Read", rows.read_at_least_bytes),
      ...limits("Written", rows.written_at_least_bytes),
    ],
  });
}

function who(view: View, name: number | undefined, tasks: number | null | undefined): string {
  const word = view.name(name);
  if (!word) return tasks ? many(tasks, "task") : "";
  return tasks && tasks > 1 ? `${word} and others (${many(tasks, "task")})` : word;
}
