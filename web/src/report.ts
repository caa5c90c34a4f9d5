// The data of a page, as `forebay report --json` prints it (docs/formats/report.md, "Report"). Columns of a table
// lie side by side; `null` is "not seen". Texts are ready to be shown as they are.

import type { Column, Missing, Noted, Numbers, Panels } from "./data";

export * from "./data";

export interface Run {
  label: string;
  origin: "measured" | "simulated" | "imported";
  started_unix_us: number | null;
  host: string | null;
  command: string;
  directory: string;
  cpus: number | null;
  memory_bytes: number | null;
  complete: boolean;
  wall_us: number;
  more: [string, string][];
  names: { n: number; name: Numbers; tasks: Numbers; driver: Numbers };
  tiers: {
    n: number;
    name: Numbers;
    path: Numbers;
    fs: Numbers;
    tier: Numbers;
    limit_bytes: Column;
  };
  classes: { n: number; pattern: Numbers };
  panels: { [K in keyof Panels]: Panels[K] | Missing };
}

export interface ComparedRun {
  run: number;
  tasks: Column;
  wall_us: Column;
  median_us: Column;
  waited_us: Column;
  cpu_us: Column;
  read_bytes: Column;
  written_bytes: Column;
}
export interface Compare extends Noted {
  base: number;
  runs: {
    n: number;
    run: Numbers;
    wall_us: Column;
    cost_usd: Column;
    waited_share: Column;
    utilisation_share: Column;
    waited_us: Column;
    read_bytes: Column;
    written_bytes: Column;
    read_at_least_bytes: Column;
    written_at_least_bytes: Column;
    operations: Column;
  };
  names: { n: number; name: Numbers; runs: ComparedRun[] };
  storages: {
    n: number;
    label: Numbers;
    runs: Column;
    median_us: Column;
    low_us: Column;
    high_us: Column;
    range: Numbers;
    ratio: Column;
    ratio_low: Column;
    ratio_high: Column;
    verdict: Numbers;
  };
}

export interface Report {
  schema: number;
  forebay: string;
  strings: string[];
  runs: Run[];
  compare: Compare | null;
}

export function isMissing(panel: object): panel is Missing {
  return "missing" in panel;
}

/** What is embedded in the page: base64 of gzip of JSON. */
export async function embedded(id: string): Promise<Report> {
  const text = document.getElementById(id)?.textContent?.trim() ?? "";
  const packed = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text()) as Report;
}
