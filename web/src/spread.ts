// How a figure differs among tasks of one kind: the least, the quarters, and the greatest.

export interface Spread {
  /** Of how many tasks it is known. */
  seen: number;
  least: number;
  lower: number;
  median: number;
  upper: number;
  greatest: number;
}

/** `null`: it is known of none. */
export function spread(values: (number | null)[]): Spread | null {
  const sorted = values.filter((value): value is number => value != null).sort((a, b) => a - b);
  if (sorted.length === 0) return null;
  const at = (part: number): number => {
    const place = part * (sorted.length - 1);
    const [below, above] = [sorted[Math.floor(place)] ?? 0, sorted[Math.ceil(place)] ?? 0];
    return below + (above - below) * (place - Math.floor(place));
  };
  return {
    seen: sorted.length,
    least: at(0),
    lower: at(0.25),
    median: at(0.5),
    upper: at(0.75),
    greatest: at(1),
  };
}
