// Which task ran where and when: a row for each lane, a mark for each task.

import { chart } from "../chart";
import type { Theme } from "../colours";
import { download, el, replace } from "../dom";
import { occupancyHeight, occupancyOption } from "../occupancy/option";
import { follow } from "../occupancy/pointer";
import { type ColourBy, Scene, WAIT_STEPS } from "../occupancy/scene";
import { showTask } from "../occupancy/told";
import type { Panel } from "../panel";
import type { Occupancy } from "../report";
import type { Key } from "../spec";
import { onTheme, shownTheme } from "../theme";
import { trace } from "../trace";
import { count, many, seconds, share } from "../units";
import { type View, largest, sum } from "../view";

export const occupancy: Panel = {
  id: "occupancy",
  title: "Occupancy",
  short: "Occupancy",
  shows:
    "Each task as a bar from start to end, coloured by its name. Ctrl and wheel zooms, dragging moves.",
  draw(view) {
    const data = view.panel("occupancy");
    if (typeof data === "string") return data;
    if (data.tasks.n + data.drivers.n === 0) return "No task was seen.";
    const scene = new Scene(view, data);
    if (data.tasks.n === 0) {
      scene.withDrivers = true;
      scene.lay();
    }
    return {
      notable: notable(view, data),
      body: build(view, scene),
      ...(data.notes ? { notes: data.notes } : {}),
    };
  },
};

function notable(view: View, { tasks, busy, wall_us }: Occupancy): string | null {
  if (tasks.n === 0) return "Only programs that start others were seen.";
  const long = largest(tasks.end_us.map((end, task) => end - (tasks.start_us[task] ?? 0)));
  const took = (tasks.end_us[long] ?? 0) - (tasks.start_us[long] ?? 0);
  const mean = sum(busy.running) / Math.max(1, busy.running.length);
  const longest = `the longest, “${view.name(tasks.name[long]) || "unknown"}”, takes ${seconds(took / 1e6)}`;
  const part = wall_us > 0 ? `, ${share(took / wall_us)} of the run` : "";
  return `${mean.toFixed(1)} tasks ran at a time on average; ${longest}${part}.`;
}

function build(view: View, scene: Scene): Node[] {
  const details = el("div", { class: "task", hidden: true, "aria-live": "polite" });
  const picture = chart({
    label: `Occupancy: ${many(scene.rows.n, "task")} over time. Arrow keys go from task to task, Enter shows all of one.`,
    file: view.file("occupancy"),
    height: occupancyHeight(scene.lanes),
    zoom: true,
    option: (theme, width) => occupancyOption(scene, theme, width),
    key: (theme) => keyOf(view, scene, theme),
    wire: (made, stage) => follow(made, stage, scene, (task) => showTask(details, scene, task)),
  });
  const tally = el("span", { class: "tally", role: "status" });
  const changed = (): void => {
    const found = scene.count();
    tally.textContent =
      scene.searching || scene.picked.size > 0
        ? `${count(found)} of ${count(scene.rows.n)} tasks`
        : "";
    picture.redraw();
  };
  const names = el("div", { class: "names" });
  const colours = (): void => replace(names, ...keys(view, scene, changed));
  onTheme(colours);
  colours();

  const search = el("input", {
    type: "search",
    placeholder: "Find by name, command or file",
    "aria-label": "Find tasks by name, command or file",
    input: () => {
      scene.search(search.value);
      changed();
    },
  });
  const by = el(
    "select",
    {
      "aria-label": "Colour by",
      change: () => {
        scene.colourBy = by.value as ColourBy;
        colours();
        changed();
      },
    },
    el("option", { value: "name" }, "Colour by task name"),
    el("option", { value: "waited" }, "Colour by share of waiting"),
    el("option", { value: "exit" }, "Colour by success"),
    scene.data.critical && el("option", { value: "critical" }, "Colour by critical path"),
  );
  const drivers = el("input", {
    type: "checkbox",
    checked: scene.withDrivers,
    change: () => {
      scene.withDrivers = drivers.checked;
      scene.lay();
      picture.resize(occupancyHeight(scene.lanes));
      changed();
    },
  });
  const offered = scene.data.drivers.n > 0 && scene.data.tasks.n > 0;
  const tools = el(
    "div",
    { class: "controls" },
    search,
    by,
    offered && el("label", { class: "check" }, drivers, "Shells and engines too"),
    el(
      "button",
      {
        type: "button",
        title: "Save the run as a trace for ui.perfetto.dev",
        click: () => download(view.file("trace.json"), "application/json", trace(view, scene.data)),
      },
      "Trace",
    ),
    tally,
  );
  return [tools, names, picture.element, details];
}

const WAIT_WORDS = WAIT_STEPS.map((limit) => `up to ${share(limit)}`).concat("more");

/** What the colours mean; a press on a name shows it alone. */
function keys(view: View, scene: Scene, changed: () => void): Node[] {
  const theme = shownTheme();
  const key = (colour: string, word: string): HTMLElement => {
    const dot = el("span", { class: "swatch", "aria-hidden": "true" });
    dot.style.backgroundColor = colour;
    return el("span", { class: "key" }, dot, word);
  };
  if (scene.colourBy === "waited") {
    const steps = WAIT_WORDS.map((word, at) => key(theme.steps[at] ?? "", word));
    return [
      el("span", { class: "key" }, "Waiting for storage:"),
      ...steps,
      key(theme.others, "not seen"),
    ];
  }
  if (scene.colourBy === "critical") {
    return [key(theme.warning, "on the critical path"), key(theme.others, "beside it")];
  }
  if (scene.colourBy === "exit") {
    return [
      key(theme.cool, "succeeded"),
      key(theme.warning, "failed"),
      key(theme.others, "not known"),
    ];
  }
  const seen = new Set(scene.data.tasks.name);
  const shown = view.run.names.name.map((_, name) => name).filter((name) => seen.has(name));
  const own = shown.filter((name) => view.colours.own(name));
  const buttons = own.map((name) => {
    const dot = el("span", { class: "swatch", "aria-hidden": "true" });
    dot.style.backgroundColor = view.colours.of(name, theme);
    const button = el(
      "button",
      { type: "button", class: "key", "aria-pressed": String(scene.picked.has(name)) },
      dot,
      view.name(name) || "(unknown)",
    );
    button.addEventListener("click", () => {
      if (!scene.picked.delete(name)) scene.picked.add(name);
      button.setAttribute("aria-pressed", String(scene.picked.has(name)));
      changed();
    });
    return button;
  });
  const rest = shown.length - own.length;
  return rest > 0 ? [...buttons, key(theme.others, `${many(rest, "other name")}`)] : buttons;
}

/** An exported picture has no page around it, so it brings what the colours mean. */
function keyOf(view: View, scene: Scene, theme: Theme): Key[] {
  const seen = new Set(scene.data.tasks.name);
  const own = view.run.names.name
    .map((_, name) => name)
    .filter((n) => seen.has(n) && view.colours.own(n));
  if (scene.colourBy === "name") {
    return own.map((name) => ({ colour: view.colours.of(name, theme), word: view.name(name) }));
  }
  if (scene.colourBy === "waited") {
    return WAIT_WORDS.map((word, at) => ({
      colour: theme.steps[at] ?? "",
      word: `waited ${word}`,
    }));
  }
  if (scene.colourBy === "critical") {
    return [
      { colour: theme.warning, word: "on the critical path" },
      { colour: theme.others, word: "beside it" },
    ];
  }
  return [
    { colour: theme.cool, word: "succeeded" },
    { colour: theme.warning, word: "failed" },
  ];
}
