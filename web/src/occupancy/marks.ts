// The shape of the occupancy chart: all tasks of one colour as one path. 25,000 elements of their own
// would each be laid out, bound and sorted at every step of a zoom.

import { graphic } from "../echarts";
import type { Tasks } from "../report";
import type { Group } from "./scene";

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
 * Rectangles of the tasks that are in sight, for each group of them. A task is at least a pixel wide,
 * so that none is lost; of several in one pixel of one lane the first is drawn, whatever its colour,
 * and what is faint is no rival of what is not.
 */
export function rectangles(rows: Tasks, groups: Group[], place: Place): Rectangles[] {
  const { x, right, perUs, zero, top, laneHeight } = place;
  const gap = laneHeight > 6 ? 1 : 0;
  const made = groups.map((): Rectangles => ({ flat: [] }));
  const group = new Int32Array(rows.n);
  groups.forEach(({ tasks }, index) => tasks.forEach((task) => (group[task] = index)));
  const drawn = new Map<number, number>();
  for (let task = 0; task < rows.n; task += 1) {
    const from = zero + (rows.start_us[task] ?? 0) * perUs;
    const to = Math.max(from + 1, zero + (rows.end_us[task] ?? 0) * perUs);
    if (to < x || from > right) continue;
    const index = group[task] ?? 0;
    const lane = rows.lane[task] ?? 0;
    const rivals = 2 * lane + Number(groups[index]?.faint);
    const done = drawn.get(rivals) ?? -1;
    if (to <= done) continue;
    const start = Math.max(from, Math.min(done, to - 1), x - 2);
    const end = Math.min(Math.max(to, start + 1), right + 2);
    drawn.set(rivals, end);
    const thin = end - start > 4 ? 0.6 : 0;
    made[index]?.flat.push(start, top + lane * laneHeight, end - start - thin, laneHeight - gap);
  }
  return made;
}
