// What was asked of the storage, how often, and what that cost.

import { bars, barsHeight } from "../bars";
import { chart } from "../chart";
import { amounts, counts, paths, times, words } from "../columns";
import { el } from "../dom";
import type { Panel } from "../panel";
import type { Operations } from "../report";
import { table } from "../table";
import { count, many, seconds, share, timeScale } from "../units";
import { type View, most } from "../view";

const SHOWN = 12;

interface Kind {
  op: string;
  group: string;
  time: number;
  count: number;
}

export const operations: Panel = {
  id: "operations",
  title: "Operations",
  short: "Operations",
  shows: "Which operations the storage was asked for, and how long programs waited for each kind.",
  draw(view) {
    const data = view.panel("operations");
    if (typeof data === "string") return data;
    if (data.rows.n === 0) return "No operation was seen.";
    const kinds = byOp(view, data);
    return {
      notable: notable(kinds, data),
      body: [draw(view, kinds), rows(view, data)],
      ...(data.notes ? { notes: data.notes } : {}),
    };
  },
};

function byOp(view: View, { rows }: Operations): Kind[] {
  const kinds = new Map<string, Kind>();
  for (let row = 0; row < rows.n; row += 1) {
    const op = view.text(rows.op[row]);
    const kind = kinds.get(op) ?? { op, group: view.text(rows.group[row]), time: 0, count: 0 };
    kind.time += rows.time_us[row] ?? 0;
    kind.count += rows.count[row] ?? 0;
    kinds.set(op, kind);
  }
  return [...kinds.values()].sort((a, b) => b.time - a.time || b.count - a.count);
}

function notable([first]: Kind[], data: Operations): string | null {
  if (!first || data.time_us === 0) return null;
  const each =
    first.count > 0 ? `, ${seconds(first.time / first.count / 1e6)} each on average` : "";
  const part = share(first.time / data.time_us);
  return `${many(first.count, `“${first.op}”`, `× “${first.op}”`)} took ${part} of the waiting${each}.`;
}

function draw(view: View, kinds: Kind[]): HTMLElement {
  const shown = kinds.slice(0, SHOWN);
  const scale = timeScale(most(shown.map(({ time }) => time)) / 1e6);
  return chart({
    label: "Time that programs waited, by kind of operation",
    file: view.file("operations"),
    height: barsHeight(shown.length, 1, true) + 24,
    option: (theme, width) => {
      const colour: Record<string, string> = {
        metadata: theme.queue,
        data: theme.read,
        sync: theme.written,
      };
      const groups = [...new Set(shown.map(({ group }) => group))];
      return bars(
        theme,
        {
          names: shown.map(({ op }) => op),
          series: groups.map((group) => ({
            name:
              {
                metadata: "Names and attributes",
                data: "Reads and writes",
                sync: "Making durable",
              }[group] ?? "Others",
            colour: colour[group] ?? theme.others,
            values: shown.map((kind) => (kind.group === group ? kind.time : null)),
          })),
          stacked: true,
          unit: scale.unit,
          divisor: scale.divisor * 1e6,
          show: (value) => seconds(value / 1e6),
          also: (row) => [
            { label: "Operations", value: count(shown[row]?.count) },
            {
              label: "Each, on average",
              value: seconds((shown[row]?.time ?? 0) / Math.max(1, shown[row]?.count ?? 1) / 1e6),
            },
          ],
        },
        width,
      );
    },
  }).element;
}

function rows(view: View, { rows }: Operations): HTMLElement {
  const each = rows.time_us.map((time, row) => {
    const many = rows.count[row];
    return time == null || !many ? null : time / many;
  });
  const size = (row: number): string => {
    const found = view.text(rows.size[row]);
    return found === "" ? "" : found === "more" ? "> 1M" : `≤ ${found}`;
  };
  return el(
    "div",
    {},
    table({
      caption: "Operations by kind, size and storage",
      file: view.file("operations"),
      rows: rows.n,
      columns: [
        words("Operation", (row) => view.text(rows.op[row])),
        words("Size", size, "Bytes of one operation"),
        words("Pattern", (row) => view.text(rows.pattern[row])),
        words("Storage", (row) => view.tier(rows.tier[row])),
        counts("Count", rows.count, "", true),
        counts("Failed", rows.failed, "Answered with an error"),
        times("Time", rows.time_us, "Summed", true),
        times("Each", each, "On average"),
        amounts("Bytes", rows.bytes),
        words("Mostly by", (row) => view.name(rows.name[row]), "Task with most of the time"),
        paths("Mostly on", (row) => view.pattern(rows.class[row]), "Files with most of the time"),
      ],
    }),
  );
}
