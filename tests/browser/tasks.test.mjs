// Lost if it failed: single tasks that can't be found, sorted or taken elsewhere, and figures that are
// said to be unseen where something of them is sure.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  colours,
  data,
  drawn,
  open,
  picture,
  saved,
  shoot,
  start,
  stop,
  withData,
} from "./browser.mjs";

before(start);
after(stop);

const singles = (page) =>
  page.locator("#tasks .table", {
    has: page.locator("table[aria-label='Single tasks']"),
  });
const lines = (text) => text.trimEnd().split("\r\n");
const csvOf = (page, table) =>
  saved(page, () => table.getByRole("button", { name: "CSV" }).click());
const column = (table, at) =>
  table
    .locator(`tbody tr td:nth-child(${at})`)
    .evaluateAll((found) => found.map((cell) => cell.innerText));

test("the table has every task, with what it took", async () => {
  const { page, wrong, close } = await open("measured");
  const table = singles(page);
  const { name, text } = await csvOf(page, table);
  assert.match(name, /single-tasks\.csv$/);
  const [head, ...rows] = lines(text);
  assert.equal(
    head.split(",").slice(0, 11).join(),
    "Task,Tag,Began (s),Wall (s),CPU (s),Waited (s),Read (bytes),Written (bytes)," +
      "Peak memory (bytes),Exit,Command",
  );
  const { tasks } = (await data(page)).runs[0].panels.occupancy;
  assert.equal(rows.length, tasks.n, "a line for each task");

  await table.getByRole("button", { name: "Wall", exact: true }).click();
  const sorted = lines((await csvOf(page, table)).text).slice(1);
  const longest = Math.max(
    ...tasks.end_us.map((end, at) =>
      tasks.open_end[at] ? 0 : end - tasks.start_us[at],
    ),
  );
  assert.ok(
    sorted[0].includes(`,${longest / 1e6},`),
    `the longest first: ${sorted[0]}`,
  );
  assert.deepEqual(wrong, []);
  await close();
});

test("a task is found by a file that it used, however few bytes it had of it", async () => {
  const { page, wrong, close } = await open("real");
  const report = await data(page);
  const { files, tasks } = report.runs[0].panels.occupancy;
  // `cat small/*.txt` opens 300 files.
  const last = "small/300.txt";
  const users = new Set();
  for (let task = 0; task < tasks.n; task += 1)
    for (let at = files.at[task]; at < files.at[task + 1]; at += 1)
      if (report.strings[files.path[at]].endsWith(last)) users.add(task);
  assert.ok(users.size >= 1, `nobody has ${last}`);
  const table = singles(page);
  await table.locator("input[type=search]").fill(last);
  assert.match(
    await table.locator(".tally").innerText(),
    new RegExp(`^${users.size} of ${tasks.n} rows`),
  );
  assert.ok((await column(table, 1)).includes("cat"));
  await page.locator("#occupancy input[type=search]").fill(last);
  assert.match(
    await page.locator("#occupancy .controls .tally").innerText(),
    new RegExp(`^${users.size} of `),
    "the chart finds the same",
  );

  await table.getByRole("button", { name: "cat", exact: true }).first().click();
  const task = page.locator("#tasks .task");
  await task.locator("input[type=search]").fill("small/29");
  assert.equal(
    await task.locator("tbody tr").count(),
    11,
    "29 and 290 to 299 of its own files",
  );
  await shoot(page, "tasks", "task-in-full");
  assert.deepEqual(wrong, []);
  await close();
});

test("each kind of task has its spread, of any figure", async () => {
  const { page, wrong, close } = await open("measured");
  await drawn(page, "tasks");
  const { runs, strings } = await data(page);
  const { tasks } = runs[0].panels.occupancy;
  const kind = tasks.name[0];
  const walls = tasks.end_us
    .map((end, at) => end - tasks.start_us[at])
    .filter((_, at) => tasks.name[at] === kind && !tasks.open_end[at])
    .sort((a, b) => a - b);
  const table = page.locator("#tasks .choice .table").first();
  const rows = lines((await csvOf(page, table)).text);
  assert.match(
    rows[0],
    /^Task,Tasks,Seen,Min \(s\),25 % \(s\),Median \(s\),75 % \(s\),Max \(s\)/,
  );
  const name = strings[runs[0].names.name[kind]];
  const [, , seen, least, , median, , most] = rows
    .find((row) => row.startsWith(`${name},`))
    .split(",")
    .map(Number);
  assert.equal(seen, walls.length);
  assert.equal(least, walls[0] / 1e6);
  assert.equal(most, walls.at(-1) / 1e6);
  const half = (walls.length - 1) / 2;
  const middle = (walls[Math.floor(half)] + walls[Math.ceil(half)]) / 2 / 1e6;
  assert.ok(Math.abs(median - middle) < 1e-9, `${median}, not ${middle}`);

  const whole = await picture(page, "#tasks");
  await page.locator("#tasks .choice select").selectOption({ label: "Waited" });
  await drawn(page, "tasks");
  assert.notEqual(await picture(page, "#tasks"), whole);
  for (const found of await colours(page, "tasks")) assert.ok(found > 8);
  assert.deepEqual(wrong, []);
  await close();
});

/** Bytes of the first row go unseen, but for what is sure of them. */
function half(table) {
  for (const kind of ["read", "written"]) {
    table[`${kind}_bytes`][0] = null;
    table[`${kind}_at_least_bytes`][0] = 3 * 2 ** 30;
  }
}

test("what is sure of bytes that were not all seen is said", async () => {
  const made = await open("compared");
  const report = await data(made.page);
  await made.close();
  for (const { panels } of report.runs) {
    half(panels.overview.by_name);
    half(panels.occupancy.tasks);
    half(panels.files.rows);
    // Of the tile, and what it can't be more than of a task.
    panels.overview.written_bytes = null;
    panels.overview.written_at_least_bytes = 5 * 2 ** 30;
    panels.occupancy.tasks.read_at_most_bytes[0] = 9 * 2 ** 30;
  }
  half(report.compare.runs);
  withData("compared", "bounded", report);

  const { page, wrong, close } = await open("bounded");
  const at = (panel, label) =>
    page.locator(`#${panel} .table`, {
      has: page.locator(`table[aria-label^='${label}']`),
    });
  for (const [table, cells] of [
    [at("overview", "Kinds of task"), ["≥ 3.00 GiB", "≥ 3.00 GiB"]],
    [at("tasks", "Single tasks"), ["≤ 9.00 GiB", "≥ 3.00 GiB"]],
    [at("files", "Files"), ["≥ 3.00 GiB", "≥ 3.00 GiB"]],
    [at("compare", "Runs;"), ["≥ 3.00 GiB", "≥ 3.00 GiB"]],
  ]) {
    const row = await table.locator("tbody tr").first().innerText();
    const said = row.match(/[≥≤] [\d.]+ GiB/g);
    assert.deepEqual(said, cells, row);
    const { text } = await csvOf(page, table);
    const [head, first] = lines(text);
    assert.match(head, /Read at least \(bytes\)/);
    assert.ok(first.includes(String(3 * 2 ** 30)), "a bare number there");
    // Sorted by what is sure of it, not as if it were nothing.
    await table.getByRole("button", { name: "Written", exact: true }).click();
    const order = await table.locator("tbody tr").allInnerTexts();
    assert.match(order[0], /GiB/);
  }
  const tile = page.locator("#overview .tile", { hasText: "Written" });
  assert.match(await tile.innerText(), /≥ 5\.00 GiB/);
  assert.deepEqual(wrong, []);
  await close();
});

test("a run as anybody records it says what is sure, as its summary does", async () => {
  const { page, wrong, close } = await open("plain");
  const kinds = page.locator("#overview .table");
  assert.match(await kinds.innerText(), /[≥≤] [\d.]+ .?i?B/);
  assert.match(await singles(page).innerText(), /[≥≤] [\d.]+ .?i?B/);
  await shoot(page, "overview", "plain");
  await shoot(page, "tasks", "plain");
  assert.deepEqual(wrong, []);
  await close();
});

test("the critical path is a table, and a colour", async () => {
  const { page, wrong, close } = await open("real");
  const { critical } = (await data(page)).runs[0].panels.occupancy;
  // On a quiet machine its `sleep` alone may take longer than any chain.
  assert.ok(critical.n >= 1, JSON.stringify(critical));
  const table = page.locator("#tasks .table", {
    has: page.locator("table[aria-label^='Tasks of the critical path']"),
  });
  assert.equal(await table.locator("tbody tr").count(), critical.n);
  assert.match(
    await page.locator("#tasks .notable").innerText(),
    /critical path has \d+ tasks?, .* of the run/,
  );
  await drawn(page, "occupancy");
  const before = await picture(page, "#occupancy");
  await page.locator("#occupancy select").selectOption("critical");
  await page.waitForTimeout(150);
  assert.notEqual(await picture(page, "#occupancy"), before);
  await shoot(page, "occupancy", "critical");
  assert.deepEqual(wrong, []);
  await close();
});

test("a task is shown in full and zoomed to", async () => {
  const { page, wrong, close } = await open("measured");
  await drawn(page, "occupancy");
  const before = await picture(page, "#occupancy");
  await singles(page).locator("button.pick").first().click();
  const told = page.locator("#tasks .task");
  assert.match(await told.innerText(), /Waited for storage/);
  await told.getByRole("button", { name: "Zoom to it" }).click();
  await page.waitForTimeout(450);
  assert.match(await page.evaluate(() => location.hash), /t=[\d.]+,[\d.]+/);
  assert.notEqual(await picture(page, "#occupancy"), before);
  assert.deepEqual(wrong, []);
  await close();
});

test("each chart is saved as PNG, twice as sharp as the page", async () => {
  const { page, wrong, close } = await open("measured");
  const buttons = await page.locator(".chart button", { hasText: "PNG" }).all();
  assert.ok(buttons.length >= 9, `${buttons.length} charts`);
  for (const button of buttons) {
    if (!(await button.isVisible())) continue;
    const { name, bytes } = await saved(page, () => button.click());
    assert.match(name, /\.png$/);
    const seen = await page.evaluate(async (base64) => {
      const bin = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
      const image = await createImageBitmap(new Blob([bin]));
      const canvas = new OffscreenCanvas(image.width, image.height);
      const context = canvas.getContext("2d");
      context.drawImage(image, 0, 0);
      const { data } = context.getImageData(0, 0, image.width, image.height);
      return {
        width: image.width,
        colours: new Set(new Uint32Array(data.buffer)).size,
        solid: data[3] === 255,
      };
    }, bytes.toString("base64"));
    const stage = await page.locator(".stage").first().boundingBox();
    assert.equal(seen.width, 2 * Math.round(stage.width), name);
    assert.ok(seen.colours > 8, `${name}: ${seen.colours} colours`);
    assert.ok(seen.solid, `${name} has a ground`);
  }
  assert.deepEqual(wrong, []);
  await close();
});

test("a trace has a slice for each task, and counters", async () => {
  const { page, wrong, close } = await open("measured");
  const { name, text } = await saved(page, () =>
    page.locator("#occupancy").getByRole("button", { name: "Trace" }).click(),
  );
  assert.match(name, /trace\.json$/);
  const { traceEvents, otherData } = JSON.parse(text);
  const { runs, strings } = await data(page);
  const { tasks, drivers } = runs[0].panels.occupancy;
  assert.equal(otherData.run, runs[0].label);
  const slices = traceEvents.filter(({ ph }) => ph === "X");
  assert.equal(slices.length, tasks.n + drivers.n);
  const [first] = slices;
  assert.equal(first.name, strings[runs[0].names.name[tasks.name[0]]]);
  assert.equal(first.ts, tasks.start_us[0]);
  assert.equal(first.dur, Math.max(1, tasks.end_us[0] - tasks.start_us[0]));
  // Slices of a thread may lie in each other, and not across.
  const ends = new Map();
  for (const { pid, tid, ts, dur } of slices) {
    assert.ok((ends.get(`${pid} ${tid}`) ?? 0) <= ts, `${tid} at ${ts}`);
    ends.set(`${pid} ${tid}`, ts + dur);
  }
  const counters = traceEvents.filter(({ ph }) => ph === "C");
  assert.ok(counters.length > 10);
  for (const { args } of counters)
    for (const value of Object.values(args))
      assert.equal(typeof value, "number");
  assert.deepEqual(wrong, []);
  await close();
});
