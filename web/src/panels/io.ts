// What the storage did, second by second, and what the machines did meanwhile.

import { chart } from "../chart";
import { el } from "../dom";
import type { Panel } from "../panel";
import type { Device, Io, Node_, TierFlow } from "../report";
import { choice } from "../choice";
import { type Row, stack, stackHeight } from "../stack";
import type { Theme } from "../theme";
import { moment, rate, share } from "../units";
import { type View, largest, most } from "../view";

export const io: Panel = {
  id: "io",
  title: "I/O over time",
  short: "I/O",
  shows:
    "Bytes, operations and queue of each storage, and the CPU and memory of each machine meanwhile.",
  draw(view) {
    const data = view.panel("io");
    if (typeof data === "string") return data;
    const binUs = data.bin_us;
    const body: Node[] = [];
    const draw = (title: string, rows: (theme: Theme) => Row[], file: string): HTMLElement =>
      chart({
        label: title,
        file: view.file(file),
        height: stackHeight(rows(themeless)),
        zoom: true,
        option: (theme, width) => stack(theme, rows(theme), view.run.wall_us, binUs, width),
      }).element;
    if (data.tiers.length > 0) {
      const names = data.tiers.map(({ tier }) => view.tier(tier) || "unknown storage");
      body.push(
        choice("Storage", names, busiest(data.tiers), (at) =>
          draw(`I/O of ${names[at]} over time`, (theme) => tierRows(theme, data.tiers[at]), "io"),
        ),
      );
    }
    if (data.nodes.length > 0) {
      const names = data.nodes.map(({ name }) => name);
      body.push(
        choice("Machine", names, 0, (at) =>
          draw(
            `CPU and memory of ${names[at]}`,
            (theme) => nodeRows(theme, data.nodes[at]),
            "machine",
          ),
        ),
      );
    }
    if (data.devices.length > 0) {
      const names = data.devices.map(({ name, node }) =>
        data.nodes.length > 1 ? `${name} of ${data.nodes[node]?.name ?? "?"}` : name,
      );
      body.push(
        choice("Device", names, busiestDevice(data.devices), (at) =>
          draw(
            `I/O of device ${names[at]}`,
            (theme) => deviceRows(theme, data.devices[at]),
            "device",
          ),
        ),
      );
    }
    if (body.length === 0) body.push(el("p", { class: "empty" }, "No I/O was seen."));
    return { notable: notable(view, data), body, ...(data.notes ? { notes: data.notes } : {}) };
  },
};

/** Heights are asked for before a theme is known, and do not depend on it. */
const themeless = {} as Theme;

const total = (flow: TierFlow): number =>
  most(flow.read_bytes_per_s) + most(flow.written_bytes_per_s);

function busiest(tiers: TierFlow[]): number {
  return Math.max(0, largest(tiers.map(total)));
}

function busiestDevice(devices: Device[]): number {
  return Math.max(
    0,
    largest(devices.map((d) => most(d.read_bytes_per_s) + most(d.written_bytes_per_s))),
  );
}

function notable(view: View, data: Io): string | null {
  const flow = data.tiers[busiest(data.tiers)];
  if (!flow) return null;
  const both = flow.read_bytes_per_s.map(
    (read, bin) => (read ?? 0) + (flow.written_bytes_per_s[bin] ?? 0),
  );
  const at = largest(both);
  const top = both[at] ?? 0;
  if (at < 0 || top === 0) return null;
  const when = moment(Math.round((at * data.bin_us) / 1e6));
  const waits = data.nodes.map((node) => most(node.iowait_share));
  const wait = most(waits);
  const tail = wait > 0 ? `; a machine waited for I/O at most ${share(wait)} of its CPU time` : "";
  return `The most at a time is ${rate(top)} ${view.where(flow.tier)}, at ${when}${tail}.`;
}

function tierRows(theme: Theme, flow: TierFlow | undefined): Row[] {
  if (!flow) return [];
  const rows: Row[] = [
    {
      title: "Bytes",
      measure: "rate",
      lines: [
        { name: "Read", colour: theme.read, values: flow.read_bytes_per_s, filled: true },
        { name: "Written", colour: theme.written, values: flow.written_bytes_per_s, filled: true },
      ],
    },
  ];
  if (flow.operations_per_s) {
    rows.push({
      title: "Operations",
      measure: "per second",
      height: 80,
      lines: [
        {
          name: "Operations",
          colour: theme.operations,
          values: flow.operations_per_s,
          filled: true,
        },
      ],
    });
  }
  if (flow.queue) {
    rows.push({
      title: "Operations under way",
      measure: "count",
      height: 80,
      lines: [{ name: "Queue", colour: theme.queue, values: flow.queue, filled: true }],
    });
  }
  return rows;
}

function nodeRows(theme: Theme, node: Node_ | undefined): Row[] {
  if (!node) return [];
  const at = { atUs: node.at_us, firstUs: node.for_us[0] ?? 0, filled: true };
  const rows: Row[] = [
    {
      title: "CPU",
      measure: "share",
      lines: [
        { name: "Programs", colour: theme.read, values: node.user_share, stacked: true, ...at },
        {
          name: "Kernel",
          colour: theme.operations,
          values: node.system_share,
          stacked: true,
          ...at,
        },
        {
          name: "I/O wait",
          colour: theme.written,
          values: node.iowait_share,
          stacked: true,
          ...at,
        },
        ...(most(node.steal_share) > 0
          ? [
              {
                name: "Stolen",
                colour: theme.queue,
                values: node.steal_share,
                stacked: true,
                ...at,
              },
            ]
          : []),
      ],
    },
    {
      title: "Memory",
      measure: "bytes",
      level:
        node.memory_bytes == null ? null : { at: node.memory_bytes, name: "memory of the machine" },
      lines: [
        { name: "Used", colour: theme.read, values: node.used_bytes, ...at },
        { name: "Page cache", colour: theme.operations, values: node.cached_bytes, ...at },
        {
          name: "Not yet written",
          colour: theme.written,
          values: node.dirty_bytes,
          ...at,
          filled: false,
        },
      ],
    },
  ];
  if (node.pressure_some_share && node.pressure_full_share) {
    rows.push({
      title: "Kept waiting by I/O",
      measure: "share",
      height: 80,
      lines: [
        { name: "Some process", colour: theme.cool, values: node.pressure_some_share, ...at },
        { name: "All processes", colour: theme.written, values: node.pressure_full_share, ...at },
      ],
    });
  }
  return rows;
}

function deviceRows(theme: Theme, device: Device | undefined): Row[] {
  if (!device) return [];
  const at = { atUs: device.at_us, firstUs: device.for_us[0] ?? 0, filled: true };
  return [
    {
      title: "Bytes",
      measure: "rate",
      height: 80,
      lines: [
        { name: "Read", colour: theme.read, values: device.read_bytes_per_s, ...at },
        { name: "Written", colour: theme.written, values: device.written_bytes_per_s, ...at },
      ],
    },
    {
      title: "Requests",
      measure: "per second",
      height: 80,
      lines: [
        { name: "Reads", colour: theme.read, values: device.reads_per_s, ...at },
        { name: "Writes", colour: theme.written, values: device.writes_per_s, ...at },
      ],
    },
    {
      title: "Busy",
      measure: "share",
      height: 80,
      lines: [{ name: "Busy", colour: theme.queue, values: device.busy_share, ...at }],
    },
  ];
}
