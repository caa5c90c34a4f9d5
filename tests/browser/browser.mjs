// Opens a page of `forebay report` in Debian's Chromium, as a reader would, and keeps what it complains
// of. Nothing but the file itself may be asked for.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
export const OUT = join(root, "target/browser");
export const PAGES = join(OUT, "pages");
mkdirSync(OUT, { recursive: true });

/** The panels of every page; a page of several runs has the comparison besides. */
export const PANELS = [
  "overview",
  "occupancy",
  "tasks",
  "io",
  "operations",
  "sizes",
  "files",
  "flow",
  "tiers",
  "cost",
];

const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium";
let browser;

export async function start() {
  assert.ok(
    existsSync(EXECUTABLE),
    `no ${EXECUTABLE}: run scripts/setup-browser.sh`,
  );
  // Chromium as root has no sandbox of its own; the pages are ours.
  browser = await chromium.launch({
    executablePath: EXECUTABLE,
    args: ["--no-sandbox"],
  });
}

export async function stop() {
  await browser?.close();
}

/** A page by its name in PAGES, drawn, and what went wrong in it so far. */
export async function open(
  name,
  {
    dark = false,
    width = 1280,
    height = 900,
    javaScript = true,
    hash = "",
  } = {},
) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
    acceptDownloads: true,
    javaScriptEnabled: javaScript,
  });
  context.setDefaultTimeout(10_000);
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (line) => {
    if (["error", "warning"].includes(line.type()))
      wrong.push(line.text().slice(0, 200));
  });
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("dialog", (dialog) => {
    wrong.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  const file = pathToFileURL(join(PAGES, `${name}.html`)).href;
  page.on("request", (request) => {
    const [url] = request.url().split("#");
    if (url !== file && !/^(data|blob):/.test(url))
      wrong.push(`asked for ${url}`);
  });
  await page.goto(file + hash);
  if (javaScript)
    await page.waitForSelector("html[data-ready]", { timeout: 15_000 });
  return { page, wrong, close: () => context.close() };
}

/** Scrolls through a panel so that its charts are drawn, and waits until they are. */
export async function drawn(page, panel) {
  for (const stage of await page.locator(`#${panel} .stage`).all()) {
    if (!(await stage.isVisible())) continue;
    await stage.scrollIntoViewIfNeeded();
    await page.waitForFunction(
      (at) => at.dataset.drawn,
      await stage.elementHandle(),
    );
  }
  // ECharts paints with the next frame.
  await page.evaluate(
    () =>
      new Promise((done) => requestAnimationFrame(() => setTimeout(done, 60))),
  );
}

/** How many colours each visible chart of a panel has; a blank one has none or one. */
export async function colours(page, panel) {
  return page.evaluate((id) => {
    const counts = [];
    for (const stage of document.querySelectorAll(`#${id} .stage`)) {
      if (stage.clientWidth === 0) continue;
      const seen = new Set();
      for (const canvas of stage.querySelectorAll("canvas")) {
        const { data } = canvas
          .getContext("2d")
          .getImageData(0, 0, canvas.width, canvas.height);
        const words = new Uint32Array(data.buffer);
        for (let at = 0; at < words.length; at += 3)
          if (words[at]) seen.add(words[at]);
      }
      counts.push(seen.size);
    }
    return counts;
  }, panel);
}

/** What the charts of a panel show, to see that it changed. */
export async function picture(page, selector) {
  return page.evaluate((found) => {
    const parts = [...document.querySelectorAll(`${found} canvas`)].map((c) =>
      c.toDataURL(),
    );
    return parts.join("");
  }, selector);
}

/** A picture of one panel, without the bar that would lie over it. */
export async function shoot(page, panel, name) {
  await page.evaluate(
    () => (document.querySelector(".bar").style.position = "static"),
  );
  const file = join(OUT, `${name}-${panel}.png`);
  await page.locator(`#${panel}`).screenshot({ path: file });
  return file;
}

/** What an SVG is, read by a page that has no policy of its own. */
export async function svg(page, source) {
  const blank = await page.context().newPage();
  const found = await blank.evaluate((text) => {
    const made = new DOMParser().parseFromString(text, "image/svg+xml");
    return {
      root: made.documentElement.tagName,
      foreign: made.querySelectorAll("script, foreignObject, image, a").length,
      marks: made.querySelectorAll("path, rect, text").length,
    };
  }, source);
  await blank.close();
  return found;
}

/** What the page carries, as `forebay report --json` prints it. */
export async function data(page) {
  return page.evaluate(async () => {
    const text = document.getElementById("forebay-data").textContent.trim();
    const packed = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
    const stream = new Blob([packed]).stream();
    const json = stream.pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(json).text());
  });
}

/** Another page like `from`, called `name`, that carries this. */
export function withData(from, name, report) {
  const page = readFileSync(join(PAGES, `${from}.html`), "utf8");
  const packed = gzipSync(JSON.stringify(report)).toString("base64");
  const [, before, after] = page.match(
    /^([^]*id="forebay-data">)[^<]*(<[^]*)$/,
  );
  writeFileSync(join(PAGES, `${name}.html`), before + packed + after);
}

/** Text of what a click saves, its bytes, and the name it is saved under. */
export async function saved(page, click) {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    click(),
  ]);
  const chunks = [];
  for await (const chunk of await download.createReadStream())
    chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  return {
    name: download.suggestedFilename(),
    text: bytes.toString("utf8"),
    bytes,
  };
}
