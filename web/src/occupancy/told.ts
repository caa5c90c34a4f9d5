// A task in words: for the tooltip, and in full below the chart when it is chosen.

import { tip, type TipRow } from "../axes";
import { bounded, limits, paths } from "../columns";
import { el, replace, type Child } from "../dom";
import { showPeriod } from "../period";
import { table } from "../table";
import type { Theme } from "../theme";
import { bounds, bytes, count, many, moment, seconds, share } from "../units";
import type { Scene, UsedFile } from "./scene";

const FILES_IN_TIP = 4;
const COMMAND_IN_TIP = 160;

function facts(scene: Scene, task: number): TipRow[] {
  const { rows } = scene;
  const wall = ((rows.end_us[task] ?? 0) - (rows.start_us[task] ?? 0)) / 1e6;
  const us = (value: number | null | undefined): string =>
    value == null ? "not seen" : seconds(value / 1e6);
  const begun = moment(Math.round((rows.start_us[task] ?? 0) / 1e5) / 10);
  const waited = scene.waited(task);
  const found: TipRow[] = [
    { label: "Time", value: `${seconds(wall)}${rows.open_end[task] ? " (end not seen)" : ""}` },
    { label: "Began at", value: begun },
    {
      label: "Waited for storage",
      value: us(rows.waited_us[task]) + (waited == null ? "" : ` (${share(waited)})`),
    },
    { label: "CPU", value: us(rows.cpu_us[task]) },
    {
      label: "Read",
      value: size(
        rows.read_bytes[task],
        rows.read_at_least_bytes[task],
        rows.read_at_most_bytes[task],
      ),
    },
    {
      label: "Written",
      value: size(
        rows.written_bytes[task],
        rows.written_at_least_bytes[task],
        rows.written_at_most_bytes[task],
      ),
    },
  ];
  const memory = rows.memory_peak_bytes[task];
  if (memory != null) found.push({ label: "Peak memory", value: bytes(memory) });
  const exit = rows.exit[task];
  if (exit != null && exit !== 0) found.push({ label: "Exit status", value: count(exit) });
  if (rows.cores[task] != null) found.push({ label: "Cores", value: count(rows.cores[task]) });
  return found;
}

type Known = number | null | undefined;

function size(seen: Known, least: Known, most: Known): string {
  return seen != null ? bytes(seen) : (bounds(least, most) ?? "not seen");
}

function title(scene: Scene, task: number): string {
  const [name, key] = [
    scene.view.name(scene.rows.name[task]),
    scene.view.text(scene.rows.key[task]),
  ];
  return key && key !== name ? `${name || "(unknown)"} · ${key}` : name || "(unknown)";
}

function amounts({ read, written, readLeast, writtenLeast }: UsedFile): string {
  const part = (word: string, seen: number | null, least: number | null): string[] => {
    const known = seen != null ? bytes(seen) : bounds(least);
    return known && seen !== 0 ? [`${word} ${known}`] : [];
  };
  const parts = [...part("read", read, readLeast), ...part("written", written, writtenLeast)];
  return parts.join(", ") || (read == null || written == null ? "bytes not seen" : "no bytes");
}

export function taskTip(scene: Scene, task: number, theme: Theme): HTMLElement {
  const command = scene.view.text(scene.rows.command[task]);
  const short = command.length > COMMAND_IN_TIP ? `${command.slice(0, COMMAND_IN_TIP)}…` : command;
  const files = scene.files(task);
  const more = files.length + scene.filesLeft(task) - FILES_IN_TIP;
  const [first, ...rest] = facts(scene, task);
  const coloured = first ? [{ ...first, colour: scene.colour(task, theme) }, ...rest] : [];
  return tip(
    title(scene, task),
    coloured,
    short ? el("code", { class: "tip-command" }, short) : null,
    ...files
      .slice(0, FILES_IN_TIP)
      .map((file) =>
        el("div", { class: "tip-file" }, el("code", {}, file.path), ` ${amounts(file)}`),
      ),
    more > 0 ? el("div", { class: "tip-file" }, `and ${many(more, "more file")}`) : null,
  );
}

/** All of it, to read at leisure and to copy. */
export function showTask(place: HTMLElement, scene: Scene, task: number): void {
  const command = scene.view.text(scene.rows.command[task]);
  const zoom = (): void => {
    // Some of what was before and after.
    const [from, to] = [scene.rows.start_us[task] ?? 0, scene.rows.end_us[task] ?? 0];
    const all = Math.max(scene.data.wall_us, 1000);
    const beside = Math.max((to - from) / 4, all / 1000);
    const per = (us: number): number => Math.min(100, Math.max(0, (100 * us) / all));
    showPeriod({ start: per(from - beside), end: per(to + beside) });
  };
  replace(
    place,
    el("h3", {}, title(scene, task)),
    el(
      "button",
      { type: "button", title: "Charts over time show when it ran", click: zoom },
      "Zoom to it",
    ),
    el(
      "dl",
      { class: "facts" },
      ...facts(scene, task).map(({ label, value }) =>
        el("div", {}, el("dt", {}, label), el("dd", {}, value)),
      ),
    ),
    command ? el("pre", { class: "command", tabindex: 0 }, command) : null,
    filesOf(scene, task),
  );
  place.hidden = false;
}

function filesOf(scene: Scene, task: number): Child {
  const files = scene.files(task);
  if (files.length === 0) return null;
  const of = (key: "read" | "written" | "readLeast" | "writtenLeast"): (number | null)[] =>
    files.map((file) => file[key]);
  const left = scene.filesLeft(task);
  return el(
    "div",
    {},
    table({
      caption: "Its files",
      file: scene.view.file("files-of-task"),
      rows: files.length,
      columns: [
        paths("File", (row) => files[row]?.path ?? ""),
        bounded("Read", of("read"), of("readLeast")),
        bounded("Written", of("written"), of("writtenLeast")),
        ...limits("Read", of("readLeast")),
        ...limits("Written", of("writtenLeast")),
      ],
    }),
    left > 0 &&
      el("p", { class: "empty" }, `${many(left, "file")} with fewer bytes are not listed.`),
  );
}
