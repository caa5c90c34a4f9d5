// Lost if it failed: a reader who can look at a report, and do nothing with it. Zoom, tooltip, filter,
// sort, CSV, SVG, dark mode, keyboard, choice of a run, and paper.

import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  OUT,
  colours,
  drawn,
  open,
  picture,
  saved,
  start,
  stop,
  svg,
} from "./browser.mjs";

before(start);
after(stop);

/** A page whose occupancy is drawn and in sight. */
async function occupancy(name = "measured") {
  const opened = await open(name);
  await drawn(opened.page, "occupancy");
  const stage = opened.page.locator("#occupancy .stage");
  await stage.evaluate((at) => at.scrollIntoView({ block: "center" }));
  return { ...opened, stage };
}

/** Moves over the lanes until a task's tooltip shows. */
async function hover(page, stage) {
  const box = await stage.boundingBox();
  for (let y = 32; y < 200; y += 7) {
    for (let x = 0.1; x < 0.95; x += 0.05) {
      await page.mouse.move(box.x + box.width * x, box.y + y);
      if (await page.locator("#occupancy .floating").isVisible()) return;
    }
  }
  assert.fail("no task under the mouse");
}

test("zoom by buttons and by the wheel, and back to the whole run", async () => {
  const { page, stage, wrong, close } = await occupancy();
  const settle = () => page.waitForTimeout(250);
  const whole = await picture(page, "#occupancy");
  await page
    .locator("#occupancy")
    .getByRole("button", { name: "Zoom in" })
    .click();
  await settle();
  const near = await picture(page, "#occupancy");
  assert.notEqual(near, whole);
  const box = await stage.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 60);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -240);
  await page.keyboard.up("Control");
  await settle();
  assert.notEqual(await picture(page, "#occupancy"), near, "the wheel zooms");
  await page
    .locator("#occupancy")
    .getByRole("button", { name: "Show the whole run" })
    .click();
  await page.mouse.move(2, 2);
  await settle();
  assert.equal(await picture(page, "#occupancy"), whole, "back where it was");
  assert.deepEqual(wrong, []);
  await close();
});

test("the tooltip of a task tells its command, files and waits", async () => {
  const { page, stage, wrong, close } = await occupancy();
  await hover(page, stage);
  const text = await page.locator("#occupancy .floating").innerText();
  assert.match(text, /Waited for storage/);
  assert.match(text, /\d+(\.\d+)? (µs|ms|s|min)/, "times have units");
  await page.mouse.down();
  await page.mouse.up();
  const told = page.locator("#occupancy .task");
  await told.waitFor();
  assert.ok(
    (await told.locator(".command").innerText()).length > 1,
    "the command in full",
  );
  assert.deepEqual(wrong, []);
  await close();
});

test("charts over time have tooltips with units", async () => {
  const { page, wrong, close } = await open("measured");
  await drawn(page, "io");
  const stage = page.locator("#io .stage").first();
  await stage.evaluate((at) => at.scrollIntoView({ block: "center" }));
  const box = await stage.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 70);
  const tip = page.locator("#io .tip").first();
  await tip.waitFor();
  assert.match(await tip.innerText(), /B\/s/);
  assert.deepEqual(wrong, []);
  await close();
});

test("names and words filter the occupancy", async () => {
  const { page, wrong, close } = await occupancy();
  const whole = await picture(page, "#occupancy");
  const key = page.locator("#occupancy button.key").first();
  await key.click();
  await page.waitForTimeout(150);
  assert.notEqual(await picture(page, "#occupancy"), whole);
  assert.equal(await key.getAttribute("aria-pressed"), "true");
  assert.match(
    await page.locator("#occupancy .controls .tally").innerText(),
    /^[\d,]+ of [\d,]+ tasks$/,
  );
  await key.click();
  await page
    .locator("#occupancy input[type=search]")
    .fill("no task has this name");
  assert.match(
    await page.locator("#occupancy .controls .tally").innerText(),
    /^0 of/,
  );
  await page.locator("#occupancy input[type=search]").fill("");
  await page.locator("#occupancy select").selectOption("waited");
  await page.waitForTimeout(150);
  assert.notEqual(
    await picture(page, "#occupancy"),
    whole,
    "coloured by waiting",
  );
  assert.deepEqual(wrong, []);
  await close();
});

test("arrow keys walk over the tasks, Enter tells all of one", async () => {
  const { page, stage, wrong, close } = await occupancy();
  await stage.focus();
  await page.keyboard.press("ArrowRight");
  const tip = page.locator("#occupancy .floating");
  const first = await tip.innerText();
  await page.keyboard.press("ArrowRight");
  assert.notEqual(await tip.innerText(), first);
  await page.keyboard.press("Enter");
  assert.ok(await page.locator("#occupancy .task").isVisible());
  await page.keyboard.press("Escape");
  assert.ok(await tip.isHidden());
  assert.deepEqual(wrong, []);
  await close();
});

/** Bare cells of a table's column. */
const cells = (table, column) =>
  table
    .locator(`tbody tr td:nth-child(${column})`)
    .evaluateAll((found) => found.map((c) => c.innerText));

test("tables sort both ways, filter, and save what they show", async () => {
  const { page, wrong, close } = await open("measured");
  const table = page.locator("#files .table");
  const opens = table.getByRole("button", { name: "Opens" });
  await opens.click();
  const numbers = async () =>
    (await cells(table, 4)).map((text) => Number(text.replace(/,/g, "")));
  const falling = (await numbers()).filter(Number.isFinite);
  assert.deepEqual(
    falling,
    [...falling].sort((a, b) => b - a),
  );
  assert.equal(await table.locator("th[aria-sort=descending]").count(), 1);
  await opens.click();
  const rising = (await numbers()).filter(Number.isFinite);
  assert.deepEqual(
    rising,
    [...rising].sort((a, b) => a - b),
  );

  const [path] = await cells(table, 1);
  await table.locator("input[type=search]").fill(path);
  const left = await cells(table, 1);
  assert.ok(
    left.length >= 1 &&
      left.every((found) => found.toLowerCase().includes(path.toLowerCase())),
  );
  const { name, text } = await saved(page, () =>
    table.getByRole("button", { name: "CSV" }).click(),
  );
  assert.match(name, /\.csv$/);
  const lines = text.trimEnd().split("\r\n");
  assert.match(lines[0], /^File,Size \(bytes\),Time \(s\),Opens/);
  const tally = (await table.locator(".tally").innerText())
    .match(/^[\d,]+/)[0]
    .replace(/,/g, "");
  assert.equal(
    lines.length - 1,
    Number(tally),
    "a line for each row that matches",
  );
  assert.deepEqual(wrong, []);
  await close();
});

test("each chart of a page is saved as SVG", async () => {
  const { page, wrong, close } = await open("compared");
  const buttons = await page.locator(".chart button", { hasText: "SVG" }).all();
  assert.ok(buttons.length >= 8, `${buttons.length} charts`);
  for (const button of buttons) {
    if (!(await button.isVisible())) continue;
    const { name, text } = await saved(page, () => button.click());
    assert.match(name, /\.svg$/);
    const { root, foreign, marks } = await svg(page, text);
    assert.equal(root, "svg", name);
    assert.equal(foreign, 0, name);
    assert.ok(marks > 8, `${name}: ${marks} marks`);
  }
  assert.deepEqual(wrong, []);
  await close();
});

test("the button goes from light to dark, charts too, and back", async () => {
  const { page, wrong, close } = await open("measured");
  await drawn(page, "overview");
  const light = await picture(page, "#overview");
  const ground = () =>
    page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const white = await ground();
  await page.getByRole("button", { name: "Dark" }).click();
  await page.waitForTimeout(200);
  assert.notEqual(await ground(), white);
  assert.notEqual(await picture(page, "#overview"), light);
  await page.getByRole("button", { name: "Light" }).click();
  await page.waitForTimeout(200);
  assert.equal(await ground(), white);
  assert.equal(await picture(page, "#overview"), light);
  assert.deepEqual(wrong, []);
  await close();
});

test("of several runs another can be chosen", async () => {
  const { page, wrong, close } = await open("compared");
  const label = () => page.locator(".hero .label").innerText();
  const first = await label();
  await page.locator("#run").selectOption("1");
  assert.notEqual(await label(), first);
  await drawn(page, "occupancy");
  for (const count of await colours(page, "occupancy")) assert.ok(count > 8);
  assert.deepEqual(wrong, []);
  await close();
});

test("all can be reached by keys: the skip link first, then links, buttons, headings of tables", async () => {
  const { page, close } = await open("measured");
  await page.keyboard.press("Tab");
  const skip = await page.evaluate(() => document.activeElement.textContent);
  assert.equal(skip, "Skip to the panels");
  const seen = new Set();
  for (let presses = 0; presses < 40; presses += 1) {
    await page.keyboard.press("Tab");
    const [tag, ring] = await page.evaluate(() => [
      document.activeElement.closest("th")
        ? "TH"
        : document.activeElement.tagName,
      getComputedStyle(document.activeElement).outlineStyle,
    ]);
    seen.add(tag);
    assert.notEqual(ring, "none", `${tag} shows that it has the focus`);
  }
  for (const tag of ["A", "BUTTON", "TH"])
    assert.ok(seen.has(tag), `${[...seen]} has ${tag}`);
  await close();
});

test("paper gets all panels, light and without buttons", async () => {
  const { page, wrong, close } = await open("measured", { dark: true });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print" });
  await page.waitForTimeout(400);
  const undrawn = await page.evaluate(
    () =>
      [...document.querySelectorAll(".stage")].filter(
        (at) => at.clientWidth && !at.dataset.drawn,
      ).length,
  );
  assert.equal(undrawn, 0, "charts that nobody scrolled to are drawn");
  const widest = await page.evaluate(() =>
    Math.max(
      ...[...document.querySelectorAll("canvas")].map((at) => at.clientWidth),
    ),
  );
  assert.ok(
    widest <= 690,
    `a chart goes to ${widest} pixels of paper that has 688`,
  );
  assert.ok(await page.locator(".bar").isHidden());
  const ink = await page.evaluate(() => getComputedStyle(document.body).color);
  assert.ok(Number(ink.match(/\d+/)[0]) < 80, `${ink} on paper`);
  const file = join(OUT, "measured.pdf");
  await page.pdf({ path: file, format: "A4", printBackground: true });
  assert.ok(statSync(file).size > 20_000);
  assert.deepEqual(wrong, []);
  await close();
});
