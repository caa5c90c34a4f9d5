// Single tasks: a table of all, how much those of a kind differ, and the chain that takes longest.

import { boxes, boxesHeight } from "../boxes";
import { chart } from "../chart";
import { bounded, counts, limits, paths, times, words } from "../columns";
import { el, swatch, type Child } from "../dom";
import { Scene } from "../occupancy/scene";
import { showTask } from "../occupancy/told";
import type { Panel } from "../panel";
import type { Column, Occupancy, Tasks } from "../report";
import { type Spread, spread } from "../spread";
import { type TableColumn, table } from "../table";
import { shownTheme } from "../theme";
import { byteScale, bytes, many, moment, seconds, share, timeScale } from "../units";
import type { View } from "../view";
import { choice } from "../choice";

const KINDS_SHOWN = 14;
const COMMAND_SHOWN = 90;

export const tasks: Panel = {
  id: "tasks",
  title: "Tasks",
  short: "Tasks",
  shows: "Each task by itself, how much the tasks of a kind differ, and the critical path.",
  draw(view) {
    const data = view.panel("occupancy");
    if (typeof data === "string") return data;
    if (data.tasks.n === 0) return "Only programs that start others were seen.";
    return {
      notable: notable(view, data),
      body: [spreads(view, data.tasks), singles(view, data), ...critical(view, data)],
    };
  },
};

function wall({ start_us, end_us, open_end }: Tasks): Column {
  return end_us.map((end, task) => (open_end[task] ? null : end - (start_us[task] ?? 0)));
}

/** Rows of each kind, in the order of the run: the costliest first. */
function kinds(view: View, { name }: Tasks): { name: number; rows: number[] }[] {
  const found = new Map<number, number[]>();
  name.forEach((name, task) => {
    const rows = found.get(name);
    if (rows) rows.push(task);
    else found.set(name, [task]);
  });
  const place = (name: number): number => (name < 0 ? view.run.names.n : name);
  return [...found]
    .map(([name, rows]) => ({ name, rows }))
    .sort((a, b) => place(a.name) - place(b.name));
}

const of = (column: Column, rows: number[]): Column => rows.map((row) => column[row] ?? null);

function notable(view: View, { tasks, critical, wall_us }: Occupancy): string | null {
  if (critical && wall_us > 0) {
    const part = share(critical.wall_us / wall_us);
    const take = critical.n === 1 ? "which takes" : "which take";
    return `The critical path has ${many(critical.n, "task")}, ${take} ${seconds(critical.wall_us / 1e6)}: ${part} of the run.`;
  }
  const walls = wall(tasks);
  let far: { name: number; times: number } | null = null;
  for (const { name, rows } of kinds(view, tasks)) {
    const found = spread(of(walls, rows));
    if (!found || found.seen < 5 || found.median <= 0) continue;
    const times = found.greatest / found.median;
    if (times > (far?.times ?? 3)) far = { name, times };
  }
  return far
    ? `The longest “${view.name(far.name)}” takes ${far.times.toFixed(1)} times as long as the median one.`
    : null;
}

interface Figure {
  title: string;
  column: Column;
  bytes: boolean;
}

function figures(tasks: Tasks): Figure[] {
  const time = (title: string, column: Column): Figure => ({ title, column, bytes: false });
  const size = (title: string, column: Column): Figure => ({ title, column, bytes: true });
  const all = [
    time("Wall", wall(tasks)),
    time("CPU", tasks.cpu_us),
    time("Waited", tasks.waited_us),
    size("Read", tasks.read_bytes),
    size("Written", tasks.written_bytes),
    size("Peak memory", tasks.memory_peak_bytes),
  ];
  return all.filter(({ column }) => column.some((value) => value != null));
}

function spreads(view: View, tasks: Tasks): HTMLElement {
  const all = kinds(view, tasks);
  const offered = figures(tasks);
  const names = offered.map(({ title }) => title);
  return choice("Spread of each kind", names, 0, (at) => {
    const figure = offered[at];
    if (!figure) return el("div");
    const found = all.map(({ rows }) => spread(of(figure.column, rows)));
    const show = (value: number): string =>
      figure.bytes ? bytes(Math.round(value)) : seconds(value / 1e6);
    const shown = all.slice(0, KINDS_SHOWN);
    const most = found.slice(0, KINDS_SHOWN).reduce((top, s) => Math.max(top, s?.greatest ?? 0), 0);
    const time = timeScale(most / 1e6);
    const scale = figure.bytes ? byteScale(most) : { unit: time.unit, divisor: time.divisor * 1e6 };
    const picture = chart({
      label: `${figure.title} of single tasks: least, quarters and greatest of each kind`,
      file: view.file("spread"),
      height: boxesHeight(shown.length),
      option: (theme, width) =>
        boxes(
          theme,
          {
            names: shown.map(({ name }) => view.name(name) || "(unknown)"),
            spreads: found.slice(0, KINDS_SHOWN),
            colour: (row) => view.colours.of(shown[row]?.name ?? -1, theme),
            scale,
            base: figure.bytes ? 1024 : 10,
            show,
          },
          width,
        ),
    });
    const column = (title: string, hint: string, part: (s: Spread) => number): TableColumn => {
      const value = (row: number): number | null => {
        const s = found[row];
        return s ? part(s) / (figure.bytes ? 1 : 1e6) : null;
      };
      const unit = figure.bytes ? "bytes" : "s";
      const shown = (row: number): string => (found[row] ? show(part(found[row])) : "");
      return { title, csv: `${title} (${unit})`, hint, value, show: shown };
    };
    const rows = table({
      caption: `${figure.title} of each kind`,
      file: view.file("spread"),
      rows: all.length,
      page: 8,
      columns: [
        words("Task", (row) => view.name(all[row]?.name) || "(unknown)"),
        counts(
          "Tasks",
          all.map(({ rows }) => rows.length),
        ),
        counts(
          "Seen",
          found.map((s) => s?.seen ?? 0),
          "Tasks of which the figure is known",
        ),
        column("Min", "", (s) => s.least),
        column("25 %", "A quarter of the tasks is below", (s) => s.lower),
        column("Median", "", (s) => s.median),
        column("75 %", "A quarter of the tasks is above", (s) => s.upper),
        column("Max", "", (s) => s.greatest),
      ],
    });
    return el("div", {}, picture.element, rows);
  });
}

/** A column of dashes says nothing; a CSV has it all the same. */
const unknown = (column: Column): boolean => column.every((value) => value == null);

function singles(view: View, data: Occupancy): HTMLElement {
  const { tasks } = data;
  const scene = new Scene(view, data);
  const details = el("div", { class: "task", hidden: true, "aria-live": "polite" });
  const name = (row: number): Child => {
    const button = el(
      "button",
      { type: "button", class: "pick", title: "Show all of this task" },
      swatch(view.colours.of(tasks.name[row] ?? -1, shownTheme())),
      view.name(tasks.name[row]) || "(unknown)",
    );
    button.addEventListener("click", () => {
      showTask(details, scene, row);
      details.scrollIntoView({ block: "nearest" });
    });
    return button;
  };
  const command = (row: number): string => view.text(tasks.command[row]);
  const shorter = (text: string): string =>
    text.length > COMMAND_SHOWN ? `${text.slice(0, COMMAND_SHOWN)}…` : text;
  const rows = table({
    caption: "Single tasks",
    file: view.file("single-tasks"),
    rows: tasks.n,
    placeholder: "Find by name, command or file",
    also: (row) => scene.files(row).map(({ path }) => path),
    columns: [
      { title: "Task", kind: "text", value: (row) => view.name(tasks.name[row]), show: name },
      {
        ...words(
          "Tag",
          (row) => view.text(tasks.key[row]),
          "What tells it from others of its kind",
        ),
        unseen: tasks.key.every((key) => view.text(key) === ""),
      },
      {
        ...times("Began", tasks.start_us, "Since the start of the run"),
        show: (row) => moment(Math.round((tasks.start_us[row] ?? 0) / 1e5) / 10),
      },
      times("Wall", wall(tasks), "A dash: its end was not seen", true),
      times("CPU", tasks.cpu_us),
      times("Waited", tasks.waited_us, "For storage", true),
      bounded("Read", tasks.read_bytes, tasks.read_at_least_bytes, tasks.read_at_most_bytes),
      bounded(
        "Written",
        tasks.written_bytes,
        tasks.written_at_least_bytes,
        tasks.written_at_most_bytes,
      ),
      {
        ...bounded("Peak memory", tasks.memory_peak_bytes, []),
        hint: "The most that one of its processes held",
        unseen: unknown(tasks.memory_peak_bytes),
      },
      { ...counts("Exit", tasks.exit, "Exit status"), unseen: unknown(tasks.exit) },
      { ...paths("Command", command), show: (row) => shorter(command(row)) },
      ...limits("Read", tasks.read_at_least_bytes, tasks.read_at_most_bytes),
      ...limits("Written", tasks.written_at_least_bytes, tasks.written_at_most_bytes),
    ],
  });
  return el("div", { class: "choice" }, rows, details);
}

function critical(view: View, { critical: path, tasks }: Occupancy): HTMLElement[] {
  if (!path) return [];
  const at = (row: number): number => path.task[row] ?? -1;
  const column = (of: Column): Column => path.task.map((task) => of[task] ?? null);
  const pause = path.task.map((task, row) => {
    const before = path.task[row - 1];
    return before == null ? null : (tasks.start_us[task] ?? 0) - (tasks.end_us[before] ?? 0);
  });
  const rows = table({
    caption: "Tasks of the critical path, first to last",
    file: view.file("critical-path"),
    rows: path.n,
    page: 20,
    columns: [
      words("Task", (row) => view.name(tasks.name[at(row)]) || "(unknown)"),
      {
        ...words("Tag", (row) => view.text(tasks.key[at(row)])),
        unseen: path.task.every((task) => view.text(tasks.key[task]) === ""),
      },
      paths("Reads from the one before", (row) => view.text(path.through[row])),
      times("Pause", pause, "From the end of the one before to its start"),
      times("Wall", column(wall(tasks)), "", true),
      times("CPU", column(tasks.cpu_us)),
      times("Waited", column(tasks.waited_us), "For storage", true),
    ],
  });
  const meaning =
    "Of all chains of tasks, each of which reads what the one before wrote, the one that takes longest. More slots do not make the run shorter than that; shorter tasks on it do.";
  return [el("h3", {}, "Critical path"), el("p", { class: "shows" }, meaning), rows];
}
