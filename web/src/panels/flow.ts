// Which tasks make what, and which read it: a band is as wide as its bytes are many.

import { tip, tooltip } from "../axes";
import { chart } from "../chart";
import { amounts, counts, paths, words } from "../columns";
import { el } from "../dom";
import { harmless } from "../harmless";
import type { Panel } from "../panel";
import type { Flow, FlowRows } from "../report";
import { table } from "../table";
import type { Theme } from "../theme";
import { bytes, many, share } from "../units";
import { type View, largest, sum } from "../view";

const SHOWN = 40;

interface Link {
  source: string;
  target: string;
  value: number;
  files: number;
}

export const flow: Panel = {
  id: "flow",
  title: "Data flow",
  short: "Flow",
  shows:
    "Bytes from the tasks that write them, through kinds of files, to the tasks that read them.",
  draw(view) {
    const data = view.panel("flow");
    if (typeof data === "string") return data;
    if (data.written.n + data.read.n === 0) return "No bytes were seen to flow.";
    const { links, left } = chosen(data);
    const out = data.left_out_bytes + left;
    const rest = out > 0 ? [`Small flows are not drawn: ${bytes(out)} in all.`] : [];
    return {
      notable: notable(view, data),
      body: [draw(view, links), rows(view, data)],
      notes: [...(data.notes ?? []), ...rest],
    };
  },
};

/** The largest of both directions; what is left out is told. */
function chosen({ written, read }: Flow): { links: Link[]; left: number } {
  const all = [
    ...Array.from({ length: written.n }, (_, row) => link(written, row, true)),
    ...Array.from({ length: read.n }, (_, row) => link(read, row, false)),
  ]
    .filter(({ value }) => value > 0)
    .sort((a, b) => b.value - a.value);
  return { links: all.slice(0, SHOWN), left: sum(all.slice(SHOWN).map(({ value }) => value)) };
}

/** A task that reads and writes has a node on each side, so bands never go round in circles. */
function link(rows: FlowRows, row: number, written: boolean): Link {
  const kind = `class ${rows.class[row]}`;
  const task = `${written ? "from" : "to"} ${rows.name[row]}`;
  const ends = written ? { source: task, target: kind } : { source: kind, target: task };
  return { ...ends, value: rows.bytes[row] ?? 0, files: rows.files[row] ?? 0 };
}

function notable(view: View, { written, read }: Flow): string | null {
  const at = largest(read.bytes);
  if (at >= 0 && (read.bytes[at] ?? 0) > 0) {
    const part = share((read.bytes[at] ?? 0) / (sum(read.bytes) || 1));
    const who = view.name(read.name[at]) || "Somebody unknown";
    return `The widest band: “${who}” reads ${bytes(read.bytes[at])} of “${view.pattern(read.class[at])}”, ${part} of all that is read.`;
  }
  const made = largest(written.bytes);
  if (made < 0) return null;
  return `“${view.name(written.name[made])}” writes most: ${bytes(written.bytes[made])}.`;
}

function draw(view: View, links: Link[]): HTMLElement {
  const nodes = [...new Set(links.flatMap(({ source, target }) => [source, target]))];
  const number = (node: string): number => Number(node.split(" ")[1]);
  const label = (node: string): string =>
    node.startsWith("class ")
      ? view.pattern(number(node)) || "(other files)"
      : view.name(number(node)) || "(unknown)";
  const depth = (node: string): number =>
    node.startsWith("from ") ? 0 : node.startsWith("class ") ? 1 : 2;
  const columns = [0, 1, 2].map((at) => nodes.filter((node) => depth(node) === at).length);
  const colour = (theme: Theme, node: string): string =>
    node.startsWith("class ") ? theme.others : view.colours.of(number(node), theme);
  return chart({
    label: "Bytes from task names through kinds of files to task names",
    file: view.file("flow"),
    height: Math.min(900, Math.max(220, Math.max(...columns) * 30 + 40)),
    option: (theme, width) => {
      const room = Math.min(190, width * 0.2);
      return {
        tooltip: tooltip(theme, (at: never) => flowTip(at, label), { trigger: "item" }),
        series: [
          {
            type: "sankey",
            left: 6,
            right: room,
            top: 28,
            bottom: 8,
            nodeWidth: 12,
            nodeGap: 12,
            draggable: false,
            layoutIterations: 48,
            emphasis: { focus: "adjacency" },
            label: {
              color: theme.ink,
              fontSize: 11,
              textBorderColor: theme.card,
              textBorderWidth: 2,
              width: Math.max(80, (width - room) / 2 - 60),
              overflow: "truncate",
              formatter: ({ name }: { name: string }) => harmless(label(name)),
            },
            data: nodes.map((name) => ({
              name,
              depth: depth(name),
              itemStyle: { color: colour(theme, name), borderWidth: 0 },
              ...(depth(name) === 2 ? { label: { width: room - 16 } } : {}),
            })),
            links: links.map((found) => ({
              ...found,
              lineStyle: {
                color: colour(theme, depth(found.source) === 0 ? found.source : found.target),
                opacity: theme.dark ? 0.4 : 0.32,
              },
            })),
          },
        ],
        title: ["Written by", "Kind of files", "Read by"].map((text, at) => ({
          text,
          top: 0,
          left: at === 0 ? 0 : at === 1 ? (width - room) / 2 - 6 : width - room - 12,
          textStyle: { fontSize: 12, fontWeight: 600, color: theme.muted },
        })),
      };
    },
  }).element;
}

function flowTip(at: never, label: (node: string) => string): HTMLElement {
  const { dataType, data, name, value } = at as {
    dataType: string;
    data: Partial<Link>;
    name: string;
    value: number;
  };
  if (dataType === "node") return tip(label(name), [{ label: "Bytes", value: bytes(value) }]);
  return tip(`${label(data.source ?? "")} → ${label(data.target ?? "")}`, [
    { label: "Bytes", value: bytes(data.value) },
    { label: "Files", value: many(data.files ?? 0, "file") },
  ]);
}

function rows(view: View, { written, read }: Flow): HTMLElement {
  const all = [
    ...Array.from({ length: written.n }, (_, row) => ({ rows: written, row, word: "writes" })),
    ...Array.from({ length: read.n }, (_, row) => ({ rows: read, row, word: "reads" })),
  ];
  const bytesOf = all.map(({ rows, row }) => rows.bytes[row] ?? null);
  return el(
    "details",
    {},
    el("summary", {}, "The same as a table"),
    table({
      caption: "Flows of bytes",
      file: view.file("flow"),
      rows: all.length,
      sort: { column: 3, down: true },
      columns: [
        words("Task", (at) => view.name(all[at]?.rows.name[all[at]?.row ?? 0]) || "(unknown)"),
        words("Does", (at) => all[at]?.word ?? ""),
        paths("Files", (at) => view.pattern(all[at]?.rows.class[all[at]?.row ?? 0])),
        amounts("Bytes", bytesOf, "", true),
        counts(
          "Number of files",
          all.map(({ rows, row }) => rows.files[row] ?? null),
        ),
      ],
    }),
  );
}
