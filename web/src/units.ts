// Numbers as people read them, always with their unit. `null` is "not seen" and never 0.

export const NOT_SEEN = "–";

const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/** Three significant digits, as in 1.23, 12.3, 123. */
function three(value: number): string {
  const size = Math.abs(value);
  if (size >= 99.95 || value === 0) return grouped(Math.round(value));
  return value.toFixed(size >= 9.995 ? 1 : 2);
}

function grouped(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: 0 });
}

export function count(value: number | null | undefined): string {
  if (value == null) return NOT_SEEN;
  return Number.isInteger(value) || Math.abs(value) >= 100 ? grouped(value) : three(value);
}

/** An amount, and what divides it: for axes, whose ticks are round in their unit. */
export interface Scale {
  unit: string;
  divisor: number;
}

export function byteScale(largest: number): Scale {
  let step = 0;
  while (step < BINARY.length - 1 && largest >= 1024 ** (step + 1)) step += 1;
  return { unit: BINARY[step] ?? "B", divisor: 1024 ** step };
}

export function bytes(value: number | null | undefined): string {
  if (value == null) return NOT_SEEN;
  const scale = byteScale(Math.abs(value));
  if (scale.divisor === 1) return `${grouped(value)} B`;
  return `${three(value / scale.divisor)} ${scale.unit}`;
}

/** Bytes of which some were not seen: `≥` what is sure, `≤` what they can't be more than; as the summary. */
export function bounds(least?: number | null, most?: number | null): string | null {
  // A lower bound says more when it is near the upper one.
  if (most != null && (least ?? 0) < most / 2) return `≤ ${bytes(most)}`;
  return least ? `≥ ${bytes(least)}` : null;
}

export function rate(value: number | null | undefined): string {
  return value == null ? NOT_SEEN : `${bytes(value)}/s`;
}

const two = (value: number): string => String(value).padStart(2, "0");

/** A length of time: 185 ms, 39.0 s, 1 min 17 s, 2 h 05 min, 3 d 4 h. */
export function seconds(value: number | null | undefined): string {
  if (value == null) return NOT_SEEN;
  if (value < 0) return `−${seconds(-value)}`;
  if (value === 0) return "0 s";
  if (value < 0.0009995) return `${three(value * 1e6)} µs`;
  if (value < 0.9995) return `${three(value * 1e3)} ms`;
  if (value < 59.95) return `${three(value)} s`;
  const whole = Math.round(value);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  const minutes = Math.round(value / 60);
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
  const hours = Math.round(value / 3600);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export function timeScale(largest: number): Scale {
  if (largest >= 2 * 86_400) return { unit: "h", divisor: 3600 };
  if (largest >= 7200) return { unit: "h", divisor: 3600 };
  if (largest >= 120) return { unit: "min", divisor: 60 };
  if (largest >= 1) return { unit: "s", divisor: 1 };
  return { unit: "ms", divisor: 1e-3 };
}

/** A moment since the start of the run: 1:17, 2:05:00, with milliseconds where they matter. */
export function moment(value: number): string {
  const ms = Math.round(value * 1000);
  const [whole, rest] = [Math.floor(ms / 1000), ms % 1000];
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const tail = rest === 0 ? "" : `.${String(rest).padStart(3, "0")}`;
  return h > 0 ? `${h}:${two(m)}:${two(s)}${tail}` : `${m}:${two(s)}${tail}`;
}

/** 0.034 is 3.4 %. */
export function share(value: number | null | undefined): string {
  if (value == null) return NOT_SEEN;
  const percent = value * 100;
  if (percent !== 0 && Math.abs(percent) < 0.1) return "< 0.1 %";
  return `${Math.abs(percent) < 9.95 ? percent.toFixed(1).replace(/\.0$/, "") : Math.round(percent)} %`;
}

/** A difference, with its sign: +12 %, −3 %. */
export function difference(value: number | null | undefined): string {
  if (value == null) return NOT_SEEN;
  if (Math.abs(value) < 0.0005) return "0 %";
  return `${value < 0 ? "−" : "+"}${share(Math.abs(value))}`;
}

export function usd(value: number | null | undefined): string {
  if (value == null) return NOT_SEEN;
  // Runs of minutes cost cents: three digits say more than a rounded cent.
  if (value !== 0 && Math.abs(value) < 1) return `US$ ${Number(value.toPrecision(3))}`;
  const options = { minimumFractionDigits: 2, maximumFractionDigits: 2 };
  return `US$ ${value.toLocaleString("en-US", options)}`;
}

/** "1 file", "2 files". */
export function many(value: number, one: string, more = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : more}`;
}
