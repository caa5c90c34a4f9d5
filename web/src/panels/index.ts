// The panels, in the order of the page.

import type { Panel } from "../panel";
import { compare } from "./compare";
import { cost } from "./cost";
import { files } from "./files";
import { flow } from "./flow";
import { io } from "./io";
import { occupancy } from "./occupancy";
import { operations } from "./operations";
import { overview } from "./overview";
import { sizes } from "./sizes";
import { tasks } from "./tasks";
import { tiers } from "./tiers";

export const PANELS: Panel[] = [
  overview,
  compare,
  occupancy,
  tasks,
  io,
  operations,
  sizes,
  files,
  flow,
  tiers,
  cost,
];
