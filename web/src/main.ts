// The page of `forebay report`: reads the data that the page carries, and draws its panels.

import { type Address, addressOf, readAddress, writeAddress } from "./address";
import { endCharts } from "./chart";
import { el, put, replace } from "./dom";
import type { Drawn, Panel } from "./panel";
import { PANELS } from "./panels";
import { WHOLE, isWhole, onPeriod, shownPeriod, showPeriod } from "./period";
import { type Overview, type Report, type Run, embedded } from "./report";
import { themeButton } from "./theme";
import { bytes, count } from "./units";
import { View } from "./view";

const ORIGINS: Record<Run["origin"], string> = {
  measured: "Measured",
  simulated: "Simulated",
  imported: "Imported",
};

function when(us: number | null): string {
  if (us == null) return "";
  return `${new Date(us / 1000).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** The run in a sentence, and what it was. */
function hero(view: View): HTMLElement {
  const { run } = view;
  const overview = view.panel("overview") as Overview | string;
  const words = typeof overview === "string" ? overview : overview.verdict;
  const advice = typeof overview === "string" ? null : overview.advice;
  const facts = [
    run.host,
    run.cpus == null ? null : `${count(run.cpus)} ${run.cpus === 1 ? "core" : "cores"}`,
    run.memory_bytes == null ? null : bytes(run.memory_bytes),
    when(run.started_unix_us),
    ...run.more.map(([key, value]) => `${key} ${value}`),
  ].filter((fact): fact is string => !!fact);
  return el(
    "header",
    { class: "hero" },
    el(
      "p",
      { class: "what" },
      el("span", { class: `origin ${run.origin}` }, ORIGINS[run.origin] ?? run.origin),
      el("span", { class: "label" }, run.label),
      !run.complete && el("span", { class: "origin cut" }, "Incomplete"),
    ),
    el("h1", { class: "verdict" }, words),
    advice ? el("p", { class: "advice" }, el("strong", {}, "Next: "), advice) : null,
    run.command
      ? el("pre", { class: "command", tabindex: 0, "aria-label": "Command" }, run.command)
      : null,
    el("p", { class: "facts-line" }, facts.join(" · ")),
  );
}

function section(panel: Panel, view: View): HTMLElement {
  let drawn: Drawn | string;
  try {
    drawn = panel.draw(view);
  } catch (error) {
    // One panel that fails leaves the others as they are; tests look at the console.
    console.error(panel.id, error);
    drawn = `This panel could not be drawn: ${String(error)}`;
  }
  const missing = typeof drawn === "string";
  const title = `${panel.id}-title`;
  const made = el(
    "section",
    { id: panel.id, class: missing ? "panel missing" : "panel", "aria-labelledby": title },
    el(
      "h2",
      {},
      el("span", { id: title }, panel.title),
      el("a", { class: "self", href: `#${panel.id}`, "aria-label": `Link to ${panel.title}` }, "#"),
    ),
    el("p", { class: "shows" }, panel.shows),
  );
  if (typeof drawn === "string") {
    put(made, el("p", { class: "empty" }, drawn));
    return made;
  }
  put(made, drawn.notable ? el("p", { class: "notable" }, drawn.notable) : null, ...drawn.body);
  const notes = drawn.notes ?? [];
  if (notes.length > 0) {
    put(made, el("ul", { class: "notes" }, ...notes.map((note) => el("li", {}, note))));
  }
  return made;
}

function page(report: Report, root: HTMLElement): void {
  const shown = PANELS.filter((panel) => !panel.ofAll || report.compare);
  const main = el("main", { id: "main", tabindex: -1 });
  let run = -1;
  const draw = (wanted: number): void => {
    endCharts(main);
    run = wanted;
    const view = new View(report, run);
    replace(main, hero(view), ...shown.map((panel) => section(panel, view)));
    main.dataset.run = String(run);
    select.value = String(run);
  };
  const links = shown.map((panel) => el("a", { href: `#${panel.id}` }, panel.short));
  const select = el(
    "select",
    {
      id: "run",
      change: () => {
        // Another run has other times.
        showPeriod(WHOLE);
        draw(Number(select.value));
        told();
      },
    },
    ...report.runs.map((run, index) =>
      el("option", { value: index }, `${run.label} (${run.origin})`),
    ),
  );
  const runs = report.runs.length > 1 && el("label", { class: "runs" }, "Run ", select);
  replace(
    root,
    el("a", { class: "skip", href: "#main" }, "Skip to the panels"),
    el(
      "div",
      { class: "bar" },
      el("span", { class: "brand" }, "Forebay"),
      el("nav", { "aria-label": "Panels" }, ...links),
      runs,
      themeButton(),
      el("button", { type: "button", click: () => print() }, "Print"),
    ),
    main,
    el(
      "footer",
      {},
      `forebay ${report.forebay}. This page asks no network; all of it is in this file.`,
    ),
  );

  const wall = (): number => Math.max((report.runs[run]?.wall_us ?? 0) / 1e6, 1e-3);
  const address = (panel: string | null): Address => {
    const period = shownPeriod();
    const at = (per: number): number => (per / 100) * wall();
    return { panel, run, time: isWhole(period) ? null : [at(period.start), at(period.end)] };
  };
  /** The bar of the browser and the links say what is shown. */
  function told(panel = readAddress(location.hash).panel): void {
    writeAddress(address(panel));
    for (const link of document.querySelectorAll<HTMLAnchorElement>(".bar nav a, a.self")) {
      const to = readAddress(link.hash).panel;
      if (to) link.href = addressOf(address(to));
    }
  }
  function go(): void {
    const to = readAddress(location.hash);
    const panel = shown.find(({ id }) => id === to.panel);
    const known = to.run == null || to.run < report.runs.length;
    // Anything else, such as the skip link, is the browser's.
    if (location.hash && !panel && !to.time && to.run == null) return;
    const wanted = known ? (to.run ?? 0) : 0;
    if (wanted !== run) draw(wanted);
    const per = (at: number): number => Math.min(100, (100 * at) / wall());
    const [start, end] = (to.time ?? []).map(per);
    showPeriod(start != null && end != null && start < end ? { start, end } : WHOLE);
    if (panel) document.getElementById(panel.id)?.scrollIntoView();
    told();
  }
  draw(0);
  go();
  addEventListener("hashchange", go);
  let late = 0;
  onPeriod((_, by) => {
    const panel = by instanceof Element ? by.closest("section")?.id : undefined;
    // Browsers refuse more than some changes of the address a second.
    clearTimeout(late);
    late = setTimeout(() => told(panel), 200);
  });
  follow(links, shown);
}

/** Marks the link of the panel that is on top. */
function follow(links: HTMLAnchorElement[], shown: Panel[]): void {
  const mark = (): void => {
    const tops = shown.map(
      ({ id }) => document.getElementById(id)?.getBoundingClientRect().top ?? 0,
    );
    const at = tops.filter((top) => top < 140).length - 1;
    links.forEach((link, index) => {
      if (index === at) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    });
  };
  addEventListener("scroll", mark, { passive: true });
}

async function begin(): Promise<void> {
  const root = document.getElementById("report");
  if (!root) throw new Error("no place for the report");
  try {
    page(await embedded("forebay-data"), root);
  } catch (error) {
    console.error(error);
    const words = `This report can't be shown: ${String(error)}. It needs a browser of 2023 or later.`;
    replace(root, el("p", { class: "empty" }, words));
  }
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

void begin();
