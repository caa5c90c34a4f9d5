// What a panel sees: the report, the run that is shown, and its names as words.

import { NameColours } from "./colours";
import { isMissing, type Missing, type Panels, type Report, type Run } from "./report";

export class View {
  readonly run: Run;
  readonly colours: NameColours;

  constructor(
    readonly report: Report,
    readonly shown: number,
  ) {
    const run = report.runs[shown];
    if (!run) throw new Error(`no run ${shown}`);
    this.run = run;
    this.colours = new NameColours(run.names.n);
  }

  text(index: number | undefined): string {
    return index == null || index < 0 ? "" : (this.report.strings[index] ?? "");
  }

  name(index: number | undefined): string {
    return index == null || index < 0 ? "" : this.text(this.run.names.name[index]);
  }

  pattern(index: number | undefined): string {
    return index == null || index < 0 ? "" : this.text(this.run.classes.pattern[index]);
  }

  tier(index: number | undefined): string {
    return index == null || index < 0 ? "" : this.text(this.run.tiers.name[index]);
  }

  panel<K extends keyof Panels>(key: K): Panels[K] | string {
    const found: Panels[K] | Missing = this.run.panels[key];
    return isMissing(found) ? found.missing : found;
  }

  /** As it stands in a sentence: "in place", or on "fast". */
  where(index: number): string {
    const name = this.tier(index);
    if (name === "") return "on unknown storage";
    return name === "in place" ? name : `on “${name}”`;
  }

  /** A name for files that are exported from this page. */
  file(what: string): string {
    return `${this.run.label.replace(/\.run$/, "")}-${what}`.replace(/[^\w.-]+/g, "_");
  }
}

/** The index of the largest, or -1. */
export function largest(values: (number | null)[]): number {
  let best = -1;
  values.forEach((value, index) => {
    if (value != null && (best < 0 || value > (values[best] ?? -Infinity))) best = index;
  });
  return best;
}

export function sum(values: (number | null)[]): number {
  return values.reduce<number>((total, value) => total + (value ?? 0), 0);
}

/** The greatest of many; spreading a long array into Math.max overflows the stack. */
export function most(values: (number | null)[]): number {
  return values.reduce<number>((best, value) => (value != null && value > best ? value : best), 0);
}
