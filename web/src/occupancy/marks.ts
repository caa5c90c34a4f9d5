// The shape of the occupancy chart: all tasks of one colour as one path. 25,000 elements of their own
// would each be laid out, bound and sorted at every step of a zoom.

import { graphic } from "../echarts";

export interface Rectangles {
  /** x, y, width, height of each, in pixels. */
  flat: number[];
}

const Marks = graphic.extendShape({
  shape: { flat: [] as number[] },
  buildPath(path: { rect(x: number, y: number, w: number, h: number): void }, shape: object): void {
    const { flat } = shape as Rectangles;
    for (let at = 0; at + 3 < flat.length; at += 4) {
      path.rect(flat[at] ?? 0, flat[at + 1] ?? 0, flat[at + 2] ?? 0, flat[at + 3] ?? 0);
    }
  },
});
graphic.registerShape("marks", Marks);

export interface Place {
  x: number;
  right: number;
  /** Pixels of a microsecond, and where the run starts. */
  perUs: number;
  zero: number;
  top: number;
  laneHeight: number;
}

/**
 * Rectangles of `tasks` that are in sight. A task is at least a pixel wide, so that none is lost; of
 * several in one pixel of one lane one is drawn.
 */
export function rectangles(
  tasks: number[],
  lane: (task: number) => number,
  startUs: number[],
  endUs: number[],
  place: Place,
): Rectangles {
  const { x, right, perUs, zero, top, laneHeight } = place;
  const gap = laneHeight > 6 ? 1 : 0;
  const flat: number[] = [];
  const drawn = new Map<number, number>();
  for (const task of tasks) {
    const from = zero + (startUs[task] ?? 0) * perUs;
    const to = Math.max(from + 1, zero + (endUs[task] ?? 0) * perUs);
    if (to < x || from > right) continue;
    const row = lane(task);
    if (to <= (drawn.get(row) ?? -1)) continue;
    drawn.set(row, Math.ceil(from + 1));
    const [left, end] = [Math.max(from, x - 2), Math.min(to, right + 2)];
    const thin = end - left > 4 ? 0.6 : 0;
    flat.push(left, top + row * laneHeight, end - left - thin, laneHeight - gap);
  }
  return { flat };
}
