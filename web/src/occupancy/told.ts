// A task in words: for the tooltip, and in full below the chart when it is chosen.

import { tip, type TipRow } from "../axes";
import { el, replace } from "../dom";
import type { Theme } from "../theme";
import { bytes, count, many, moment, seconds, share } from "../units";
import type { Scene } from "./scene";

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
      value: rows.read_bytes[task] == null ? "not seen" : bytes(rows.read_bytes[task]),
    },
    {
      label: "Written",
      value: rows.written_bytes[task] == null ? "not seen" : bytes(rows.written_bytes[task]),
    },
  ];
  const exit = rows.exit[task];
  if (exit != null && exit !== 0) found.push({ label: "Exit status", value: count(exit) });
  if (rows.cores[task] != null) found.push({ label: "Cores", value: count(rows.cores[task]) });
  return found;
}

function title(scene: Scene, task: number): string {
  const [name, key] = [
    scene.view.name(scene.rows.name[task]),
    scene.view.text(scene.rows.key[task]),
  ];
  return key && key !== name ? `${name || "(unknown)"} · ${key}` : name || "(unknown)";
}

function amounts(read: number | null, written: number | null): string {
  const parts = [];
  if (read != null && read > 0) parts.push(`read ${bytes(read)}`);
  if (written != null && written > 0) parts.push(`written ${bytes(written)}`);
  return parts.join(", ") || (read == null || written == null ? "bytes not seen" : "no bytes");
}

export function taskTip(scene: Scene, task: number, theme: Theme): HTMLElement {
  const command = scene.view.text(scene.rows.command[task]);
  const short = command.length > COMMAND_IN_TIP ? `${command.slice(0, COMMAND_IN_TIP)}…` : command;
  const files = scene.files(task);
  const more = files.length - FILES_IN_TIP;
  const [first, ...rest] = facts(scene, task);
  const coloured = first ? [{ ...first, colour: scene.colour(task, theme) }, ...rest] : [];
  return tip(
    title(scene, task),
    coloured,
    short ? el("code", { class: "tip-command" }, short) : null,
    ...files
      .slice(0, FILES_IN_TIP)
      .map(({ path, read, written }) =>
        el("div", { class: "tip-file" }, el("code", {}, path), ` ${amounts(read, written)}`),
      ),
    more > 0 ? el("div", { class: "tip-file" }, `and ${many(more, "more file")}`) : null,
  );
}

/** All of it, to read at leisure and to copy. */
export function showTask(place: HTMLElement, scene: Scene, task: number): void {
  const command = scene.view.text(scene.rows.command[task]);
  const files = scene.files(task);
  replace(
    place,
    el("h3", {}, title(scene, task)),
    el(
      "dl",
      { class: "facts" },
      ...facts(scene, task).map(({ label, value }) =>
        el("div", {}, el("dt", {}, label), el("dd", {}, value)),
      ),
    ),
    command ? el("pre", { class: "command", tabindex: 0 }, command) : null,
    files.length > 0
      ? el(
          "ul",
          { class: "task-files" },
          ...files.map(({ path, read, written }) =>
            el("li", {}, el("code", {}, path), ` ${amounts(read, written)}`),
          ),
        )
      : null,
  );
  place.hidden = false;
}
