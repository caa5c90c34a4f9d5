// Colours that people with colour-blindness tell apart: Okabe and Ito's, then four of Paul Tol's
// "muted". After these, names share one grey: more hues than a dozen nobody tells apart.

export interface Theme {
  dark: boolean;
  paper: string;
  card: string;
  ink: string;
  muted: string;
  line: string;
  names: string[];
  others: string;
  read: string;
  written: string;
  operations: string;
  queue: string;
  warning: string;
  cool: string;
  /** Little to much. */
  steps: string[];
  series: string[];
}

const LIGHT_NAMES = [
  "#0072B2",
  "#E69F00",
  "#009E73",
  "#CC79A7",
  "#56B4E9",
  "#D55E00",
  "#F0E442",
  "#882255",
  "#999933",
  "#332288",
  "#44AA99",
];
const DARK_NAMES = [
  "#3C9BD6",
  "#E69F00",
  "#1DB98E",
  "#CC79A7",
  "#8CCDF3",
  "#E5722A",
  "#F0E442",
  "#C2568F",
  "#B5B54A",
  "#8F86E0",
  "#5FC7B6",
];

export const LIGHT: Theme = {
  dark: false,
  paper: "#f6f7f8",
  card: "#ffffff",
  ink: "#1b232d",
  muted: "#5a6675",
  line: "#e1e5ea",
  names: LIGHT_NAMES,
  others: "#a9b1ba",
  read: "#0072B2",
  written: "#D55E00",
  operations: "#009E73",
  queue: "#AA4499",
  warning: "#C2410C",
  cool: "#56B4E9",
  steps: ["#d9e6f2", "#f7dc92", "#f3a84a", "#dc6b23", "#8c2d04"],
  series: LIGHT_NAMES,
};

export const DARK: Theme = {
  dark: true,
  paper: "#11161c",
  card: "#1a212a",
  ink: "#e7ebf0",
  muted: "#9ba8b8",
  line: "#2c3641",
  names: DARK_NAMES,
  others: "#66717e",
  read: "#56B4E9",
  written: "#F08A4B",
  operations: "#2CC397",
  queue: "#D884C6",
  warning: "#F59E6B",
  cool: "#56B4E9",
  steps: ["#33455a", "#7a5a26", "#b8741f", "#e58a3a", "#ffc08a"],
  series: DARK_NAMES,
};

/** Task names take their colours in the order of the run: the costliest first. */
export class NameColours {
  constructor(readonly names: number) {}

  of(name: number, theme: Theme): string {
    return (name >= 0 ? theme.names[name] : undefined) ?? theme.others;
  }

  /** Whether the name has a colour of its own. */
  own(name: number): boolean {
    return name >= 0 && name < LIGHT_NAMES.length;
  }
}
