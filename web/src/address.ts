// What the address of the page says after its `#`: the panel, the run of several (counted from 1), and
// the seconds that charts show, as Media Fragments have them: `#io&run=2&t=12.5,40`.

export interface Address {
  panel: string | null;
  run: number | null;
  /** From and to, in seconds since the start of the run. */
  time: [number, number] | null;
}

export function readAddress(hash: string): Address {
  const [panel = "", ...rest] = hash.replace(/^#/, "").split("&");
  const all = panel.includes("=") ? [panel, ...rest] : rest;
  const words = new Map(
    all.map((word): [string, string] => {
      const at = word.indexOf("=");
      return at < 0 ? [word, ""] : [word.slice(0, at), word.slice(at + 1)];
    }),
  );
  const run = Number(words.get("run"));
  const [from, to, ...more] = (words.get("t") ?? "").split(",").map(Number);
  const timed = more.length === 0 && from != null && to != null && from >= 0 && to > from;
  return {
    panel: panel && !panel.includes("=") ? panel : null,
    run: Number.isInteger(run) && run > 0 ? run - 1 : null,
    time: timed ? [from, to] : null,
  };
}

export function addressOf({ panel, run, time }: Address): string {
  const words = [
    panel ?? "",
    run ? `run=${run + 1}` : "",
    time ? `t=${time.map(short).join(",")}` : "",
  ];
  return `#${words.filter((word) => word).join("&")}`;
}

/** To the millisecond, or to the microsecond where a run is that short. */
function short(seconds: number): string {
  return String(Number(seconds.toFixed(seconds < 10 ? 6 : 3)));
}

/** Puts it into the bar of the browser, without a step of its history. */
export function writeAddress(address: Address): void {
  const wanted = addressOf(address);
  if (wanted === (location.hash || "#")) return;
  try {
    history.replaceState(null, "", wanted);
  } catch {
    // A page within another may not; it is the same page without.
  }
}
