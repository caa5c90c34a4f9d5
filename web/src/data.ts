// The data of each panel. Columns of a table lie side by side; `null` is "not seen". What their
// columns mean is in docs/formats/report.md, "Report".

export type Column = (number | null)[];
export type Numbers = number[];

export interface Missing {
  missing: string;
}
export interface Noted {
  notes?: string[];
}

/** Of amounts of which some was not seen: what is sure, and what they can't be more than. */
export interface Bounds<Amount = Column> {
  read_at_least_bytes: Amount;
  read_at_most_bytes: Amount;
  written_at_least_bytes: Amount;
  written_at_most_bytes: Amount;
}

export interface Overview extends Noted, Bounds<number | null> {
  verdict: string;
  advice: string | null;
  advice_saves_us: number | null;
  wall_us: number;
  cost_usd: number | null;
  utilisation_share: number | null;
  slots: number | null;
  waited_share: number | null;
  waited_us: number | null;
  cpu_us: number | null;
  cpu_share: number | null;
  pressure_share: number | null;
  tasks: number;
  failed: number;
  read_bytes: number | null;
  written_bytes: number | null;
  operations: number | null;
  exit: string | null;
  hidden: boolean;
  by_name: {
    n: number;
    name: Numbers;
    tasks: Column;
    failed: Column;
    wall_us: Column;
    median_us: Column;
    cpu_us: Column;
    waited_us: Column;
    /** Parts of the wall time, which add up to it. */
    split: {
      storage_us: Column;
      computing_us: Column;
      cpu_wait_us: Column;
      elsewhere_us: Column;
      unknown_us: Column;
    };
    memory_peak_bytes: Column;
    read_bytes: Column;
    written_bytes: Column;
    files: Column;
    operations: Column;
  } & Bounds;
  not_seen: [string, number][];
}

export interface Tasks extends Bounds {
  n: number;
  name: Numbers;
  lane: Numbers;
  start_us: Numbers;
  end_us: Numbers;
  open_end: Numbers;
  exit: Column;
  waited_us: Column;
  cpu_us: Column;
  read_bytes: Column;
  written_bytes: Column;
  memory_peak_bytes: Column;
  cores: Column;
  key: Numbers;
  command: Numbers;
}

export interface Occupancy extends Noted {
  wall_us: number;
  lanes: number;
  lane_of: string;
  cpus: number | null;
  tasks: Tasks;
  drivers: Tasks;
  files: {
    at: Numbers;
    left: Numbers;
    path: Numbers;
    read_bytes: Column;
    written_bytes: Column;
    read_at_least_bytes: Column;
    written_at_least_bytes: Column;
  };
  critical: { wall_us: number; n: number; task: Numbers; through: Numbers } | null;
  busy: { bin_us: number; running: Column; waiting: Column | null };
}

export interface TierFlow {
  tier: number;
  read_bytes_per_s: Column;
  written_bytes_per_s: Column;
  operations_per_s: Column | null;
  queue: Column | null;
}
export interface Device {
  name: string;
  node: number;
  at_us: Numbers;
  for_us: Numbers;
  read_bytes_per_s: Column;
  written_bytes_per_s: Column;
  reads_per_s: Column;
  writes_per_s: Column;
  busy_share: Column;
}
export interface Node_ {
  name: string;
  at_us: Numbers;
  for_us: Numbers;
  user_share: Column;
  system_share: Column;
  iowait_share: Column;
  idle_share: Column;
  steal_share: Column;
  memory_bytes: number | null;
  used_bytes: Column;
  cached_bytes: Column;
  dirty_bytes: Column;
  writeback_bytes: Column;
  pressure_some_share: Column | null;
  pressure_full_share: Column | null;
}
export interface Io extends Noted {
  bin_us: number;
  bins: number;
  tiers: TierFlow[];
  devices: Device[];
  nodes: Node_[];
}

export interface Operations extends Noted {
  time_us: number;
  rows: {
    n: number;
    op: Numbers;
    group: Numbers;
    size: Numbers;
    pattern: Numbers;
    tier: Numbers;
    count: Column;
    failed: Column;
    time_us: Column;
    bytes: Column;
    class: Numbers;
    name: Numbers;
  };
}

export interface Sizes extends Noted {
  bins: { n: number; upto_bytes: Column; files: Numbers; bytes: Numbers; opens: Numbers };
  unknown: number;
  small: {
    upto_bytes: number;
    files: number;
    files_share: number | null;
    bytes: number;
    bytes_share: number | null;
    opens: number;
    opens_share: number | null;
    bin_us: number;
    opened_per_s: Column;
    created_per_s: Column;
    classes: {
      n: number;
      class: Numbers;
      files: Column;
      opens: Column;
      median_bytes: Column;
      time_us: Column;
    };
  };
  sentence: string;
}

export interface Files extends Noted {
  of: number;
  ranked_by: "time" | "bytes";
  rows: {
    n: number;
    path: Numbers;
    class: Numbers;
    size_bytes: Column;
    time_us: Column;
    opens: Column;
    read_bytes: Column;
    written_bytes: Column;
    read_at_least_bytes: Column;
    written_at_least_bytes: Column;
    hidden: Numbers;
    writers: Column;
    readers: Column;
    wrote: Numbers;
    read: Numbers;
    lived: Numbers;
    gone_us: Column;
    should: Numbers;
    why: Numbers;
  };
}

export interface FlowRows {
  n: number;
  name: Numbers;
  class: Numbers;
  bytes: Numbers;
  files: Numbers;
}
export interface Flow extends Noted {
  written: FlowRows;
  read: FlowRows;
  left_out_bytes: number;
}

export interface TierUse extends Noted {
  bin_us: number;
  bins: number;
  rows: {
    tier: number;
    used_bytes: Column;
    peak_bytes: number;
    limit_bytes: number | null;
    files: Column;
  }[];
}

export interface Cost extends Noted {
  total_usd: number | null;
  per_sample_usd: number | null;
  sheet: string;
  compiled: string;
  lines: { n: number; what: Numbers; item: Numbers; units: Column; usd: Column };
  unverified: string[];
  second_hand: string[];
  unpriced: string[];
}

export interface Panels {
  overview: Overview;
  occupancy: Occupancy;
  io: Io;
  operations: Operations;
  sizes: Sizes;
  files: Files;
  flow: Flow;
  tiers: TierUse;
  cost: Cost;
}
