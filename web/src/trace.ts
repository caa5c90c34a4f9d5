// A run as a trace in the Trace Event Format, which Perfetto (ui.perfetto.dev) and chrome://tracing
// open: a slice for each task, counters for what was under way and for each storage.

import type { Column, Occupancy, Tasks } from "./report";
import type { View } from "./view";

type Event = Record<string, unknown>;

const TASKS = 1;
const DRIVERS = 2;
const STORAGE = 3;

export function trace(view: View, data: Occupancy): string {
  const io = view.panel("io");
  const { bin_us, running, waiting } = data.busy;
  const events: Event[] = [
    ...named(TASKS, "Tasks"),
    ...slices(view, data.tasks, TASKS),
    ...counter(TASKS, "Tasks under way", bin_us, { running, ...(waiting ? { waiting } : {}) }),
  ];
  if (data.drivers.n > 0) {
    events.push(...named(DRIVERS, "Shells and engines"), ...slices(view, data.drivers, DRIVERS));
  }
  if (typeof io !== "string" && io.tiers.length > 0) {
    events.push(...named(STORAGE, "Storage"));
    for (const flow of io.tiers) {
      const [read, written] = [flow.read_bytes_per_s, flow.written_bytes_per_s];
      const name = `Bytes per second, ${view.tier(flow.tier) || "unknown storage"}`;
      events.push(...counter(STORAGE, name, io.bin_us, { read, written }));
    }
  }
  const { label, origin, command, host } = view.run;
  const otherData = { run: label, origin, command, host, forebay: view.report.forebay };
  return JSON.stringify({ traceEvents: events, displayTimeUnit: "ms", otherData });
}

function named(pid: number, name: string): Event[] {
  return [
    { ph: "M", pid, name: "process_name", args: { name } },
    { ph: "M", pid, name: "process_sort_index", args: { sort_index: pid } },
  ];
}

function slices(view: View, tasks: Tasks, pid: number): Event[] {
  return tasks.start_us.map((ts, task): Event => {
    const of = (column: Column): number | undefined => column[task] ?? undefined;
    const args = {
      key: view.text(tasks.key[task]) || undefined,
      command: view.text(tasks.command[task]) || undefined,
      waited_us: of(tasks.waited_us),
      cpu_us: of(tasks.cpu_us),
      read_bytes: of(tasks.read_bytes),
      read_at_least_bytes: of(tasks.read_at_least_bytes),
      written_bytes: of(tasks.written_bytes),
      written_at_least_bytes: of(tasks.written_at_least_bytes),
      memory_peak_bytes: of(tasks.memory_peak_bytes),
      exit: of(tasks.exit),
      end_not_seen: tasks.open_end[task] === 1 || undefined,
    };
    return {
      ph: "X",
      pid,
      tid: (tasks.lane[task] ?? 0) + 1,
      ts,
      dur: Math.max(1, (tasks.end_us[task] ?? ts) - ts),
      name: view.name(tasks.name[task]) || "(unknown)",
      cat: "task",
      args,
    };
  });
}

/** A value holds until the next; a part of which nothing was seen says nothing. */
function counter(pid: number, name: string, binUs: number, lines: Record<string, Column>): Event[] {
  const bins = Object.values(lines).reduce((most, line) => Math.max(most, line.length), 0);
  return Array.from({ length: bins }, (_, bin): Event => {
    const seen = Object.entries(lines).filter(([, line]) => line[bin] != null);
    const args = Object.fromEntries(seen.map(([key, line]) => [key, line[bin]]));
    return { ph: "C", pid, tid: 0, ts: bin * binUs, name, args };
  }).filter(({ args }) => Object.keys(args as object).length > 0);
}
