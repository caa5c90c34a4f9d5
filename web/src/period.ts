// The period of the run that all charts over time show, in per cent of its length. One for the whole
// page: what stands out in one chart is looked for at the same time in the others.

export interface Period {
  start: number;
  end: number;
}

export const WHOLE: Period = { start: 0, end: 100 };

/** `by` is who chose it: its own chart shows it already. */
type Listener = (period: Period, by: object | null) => void;

let shown = WHOLE;
const listeners = new Set<Listener>();

export function shownPeriod(): Period {
  return shown;
}

export function isWhole({ start, end }: Period): boolean {
  return start <= 0 && end >= 100;
}

export function showPeriod(period: Period, by: object | null = null): void {
  // The library rounds; a chart that follows must not set off the others again.
  const off = Math.abs(period.start - shown.start) + Math.abs(period.end - shown.end);
  if (off < 1e-6) return;
  shown = period;
  for (const listener of listeners) listener(period, by);
}

/** Called at each change; the returned function ends that. */
export function onPeriod(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
