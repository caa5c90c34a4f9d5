// What a panel is: a file in panels/ makes one of these, and panels/index.ts lists it.

import type { View } from "./view";

export interface Drawn {
  /** One sentence on what stands out, derived from the data; null if nothing does. */
  notable: string | null;
  body: Node[];
  notes?: string[];
}

export interface Panel {
  id: string;
  title: string;
  /** The title in the bar on top. */
  short: string;
  /** One line: what it shows. */
  shows: string;
  /** A text instead of a drawing says why there is none. */
  draw(view: View): Drawn | string;
  /** For all runs together, not for the one that is chosen. */
  ofAll?: boolean;
}
