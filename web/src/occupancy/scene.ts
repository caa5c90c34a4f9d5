// The tasks of the occupancy chart: in which lane, of which colour, and which one is at a place.

import type { Theme } from "../colours";
import type { Occupancy, Tasks } from "../report";
import type { View } from "../view";

export type ColourBy = "name" | "waited" | "exit" | "critical";

export interface UsedFile {
  path: string;
  read: number | null;
  written: number | null;
  readLeast: number | null;
  writtenLeast: number | null;
}

export interface Group {
  colour: string;
  faint: boolean;
  tasks: number[];
}

const FAINT = 0.13;
export const faintness = (group: Group): number => (group.faint ? FAINT : 1);

/** Limits of the steps of waiting: up to 5 %, 20 %, 40 %, 60 %, more. */
export const WAIT_STEPS = [0.05, 0.2, 0.4, 0.6];

export class Scene {
  colourBy: ColourBy = "name";
  withDrivers = false;
  /** Names that are shown alone; empty: all. */
  readonly picked = new Set<number>();
  private wanted = "";
  private byLane: number[][] = [];
  private readonly words: (string | undefined)[] = [];
  /** Tasks of the critical path. */
  readonly critical: Set<number>;
  rows: Tasks;
  lanes = 1;

  constructor(
    readonly view: View,
    readonly data: Occupancy,
  ) {
    this.rows = data.tasks;
    this.critical = new Set(data.critical?.task);
    this.lay();
  }

  /** Puts tasks, and drivers below them if they are asked for, into lanes. */
  lay(): void {
    const { tasks, drivers, lanes } = this.data;
    this.rows = this.withDrivers ? joined(tasks, drivers, lanes) : tasks;
    this.lanes = 1 + this.rows.lane.reduce((best, lane) => Math.max(best, lane), 0);
    this.byLane = Array.from({ length: this.lanes }, () => []);
    this.rows.lane.forEach((lane, task) => this.byLane[lane]?.push(task));
    const start = this.rows.start_us;
    for (const lane of this.byLane) lane.sort((a, b) => (start[a] ?? 0) - (start[b] ?? 0));
    this.words.length = 0;
  }

  search(word: string): void {
    this.wanted = word.trim().toLowerCase();
  }

  get searching(): boolean {
    return this.wanted !== "";
  }

  matches(task: number): boolean {
    if (this.picked.size > 0 && !this.picked.has(this.rows.name[task] ?? -1)) return false;
    return this.wanted === "" || this.text(task).includes(this.wanted);
  }

  private text(task: number): string {
    const { view, rows } = this;
    return (this.words[task] ??= [
      view.name(rows.name[task]),
      view.text(rows.key[task]),
      view.text(rows.command[task]),
      ...this.files(task).map(({ path }) => path),
    ]
      .join("\n")
      .toLowerCase());
  }

  /** Those that the page has room for, most bytes first. */
  files(task: number): UsedFile[] {
    const { files } = this.data;
    if (task >= this.data.tasks.n) return [];
    const found = [];
    for (let at = files.at[task] ?? 0; at < (files.at[task + 1] ?? 0); at += 1) {
      found.push({
        path: this.view.text(files.path[at]),
        read: files.read_bytes[at] ?? null,
        written: files.written_bytes[at] ?? null,
        readLeast: files.read_at_least_bytes[at] ?? null,
        writtenLeast: files.written_at_least_bytes[at] ?? null,
      });
    }
    return found;
  }

  /** How many it used besides. */
  filesLeft(task: number): number {
    return this.data.files.left[task] ?? 0;
  }

  /** Share of its time that a task waited, 0 to 1; null: not known. */
  waited(task: number): number | null {
    const waited = this.rows.waited_us[task];
    const wall = (this.rows.end_us[task] ?? 0) - (this.rows.start_us[task] ?? 0);
    return waited == null || wall <= 0 ? null : Math.min(1, waited / wall);
  }

  colour(task: number, theme: Theme): string {
    if (this.colourBy === "name") return this.view.colours.of(this.rows.name[task] ?? -1, theme);
    if (this.colourBy === "waited") {
      const part = this.waited(task);
      if (part == null) return theme.others;
      const step = WAIT_STEPS.findIndex((limit) => part <= limit);
      return theme.steps[step < 0 ? WAIT_STEPS.length : step] ?? theme.others;
    }
    if (this.colourBy === "critical") {
      return this.critical.has(task) ? theme.warning : theme.others;
    }
    const exit = this.rows.exit[task];
    if (exit == null) return theme.others;
    return exit === 0 ? theme.cool : theme.warning;
  }

  /** Tasks by colour; what does not match lies below, faint. */
  groups(theme: Theme): Group[] {
    const groups = new Map<string, Group>();
    for (let task = 0; task < this.rows.n; task += 1) {
      const [colour, faint] = [this.colour(task, theme), !this.matches(task)];
      const key = `${colour}${faint}`;
      let group = groups.get(key);
      if (!group) groups.set(key, (group = { colour, faint, tasks: [] }));
      group.tasks.push(task);
    }
    return [...groups.values()].sort((a, b) => Number(b.faint) - Number(a.faint));
  }

  count(): number {
    let found = 0;
    for (let task = 0; task < this.rows.n; task += 1) found += Number(this.matches(task));
    return found;
  }

  /** The task in a lane at a time, or within `slackUs` of it; -1 if there is none. */
  at(lane: number, us: number, slackUs: number): number {
    const row = this.byLane[lane] ?? [];
    const { start_us, end_us } = this.rows;
    let [low, high] = [0, row.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((start_us[row[middle] ?? 0] ?? 0) <= us + slackUs) low = middle + 1;
      else high = middle;
    }
    const task = row[low - 1];
    return task !== undefined && (end_us[task] ?? 0) + slackUs >= us ? task : -1;
  }

  /** The next in its lane, or the nearest in time one lane up or down. */
  step(task: number, right: number, down: number): number {
    const lane = this.rows.lane[task] ?? 0;
    const row = this.byLane[lane] ?? [];
    if (right !== 0) return row[row.indexOf(task) + right] ?? task;
    const middle = ((this.rows.start_us[task] ?? 0) + (this.rows.end_us[task] ?? 0)) / 2;
    for (let to = lane + down; to >= 0 && to < this.lanes; to += down) {
      const other = this.byLane[to] ?? [];
      const off = (at: number): number => Math.abs((this.rows.start_us[at] ?? 0) - middle);
      const near = other.reduce((best, at) => (best < 0 || off(at) < off(best) ? at : best), -1);
      if (near >= 0) return this.at(to, middle, 0) >= 0 ? this.at(to, middle, 0) : near;
    }
    return task;
  }
}

function joined(tasks: Tasks, drivers: Tasks, lanes: number): Tasks {
  const lowest = drivers.lane.reduce((low, lane) => Math.min(low, lane), lanes);
  const below = lowest < lanes ? lanes - lowest : 0;
  const both = { ...tasks, n: tasks.n + drivers.n } as Tasks;
  for (const key of Object.keys(tasks) as (keyof Tasks)[]) {
    if (key === "n") continue;
    const more = key === "lane" ? drivers.lane.map((lane) => lane + below) : drivers[key];
    Object.assign(both, { [key]: [...tasks[key], ...more] });
  }
  return both;
}
