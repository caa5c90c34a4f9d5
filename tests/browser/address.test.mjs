// Lost if it failed: a link to a panel that opens the page at its top, or shows the whole run where the
// sender looked at ten seconds of it.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { drawn, open, picture, start, stop } from "./browser.mjs";

before(start);
after(stop);

const hash = (page) => page.evaluate(() => location.hash);
/** Longer than charts that follow, and the address, wait for the hand to rest. */
const settle = (page) => page.waitForTimeout(450);
const top = (page, panel) =>
  page
    .locator(`#${panel}`)
    .evaluate((at) => Math.round(at.getBoundingClientRect().top));
const zoomIn = (page, panel) =>
  page
    .locator(`#${panel}`)
    .getByRole("button", { name: "Zoom in" })
    .first()
    .click();

test("a link to a panel opens the page there", async () => {
  for (const panel of ["io", "tasks", "files"]) {
    const { page, wrong, close } = await open("measured", {
      hash: `#${panel}`,
    });
    const at = await top(page, panel);
    assert.ok(at >= 0 && at < 140, `${panel} is at ${at} pixels`);
    assert.equal(await hash(page), `#${panel}`, "and stays in the address");
    assert.deepEqual(wrong, []);
    await close();
  }
});

test("a zoom in time is in the address, and comes back with it", async () => {
  const { page, wrong, close } = await open("measured");
  await drawn(page, "io");
  const whole = await picture(page, "#io");
  await zoomIn(page, "io");
  await settle(page);
  const link = await hash(page);
  assert.match(link, /^#io&t=[\d.]+,[\d.]+$/, "the panel and its seconds");
  await page.mouse.move(2, 2);
  const zoomed = await picture(page, "#io");
  assert.notEqual(zoomed, whole);
  const [nav] = await page.locator(".bar nav a", { hasText: "Files" }).all();
  const to = await nav.getAttribute("href");
  assert.equal(to, link.replace("#io", "#files"), "links keep the zoom");
  assert.deepEqual(wrong, []);
  await close();

  const again = await open("measured", { hash: link });
  await drawn(again.page, "io");
  assert.ok((await top(again.page, "io")) < 140);
  assert.equal(await picture(again.page, "#io"), zoomed, "as it was sent");
  await again.page
    .locator("#io")
    .getByRole("button", { name: "Show the whole run" })
    .first()
    .click();
  await settle(again.page);
  assert.equal(await hash(again.page), "#io", "the whole run needs no words");
  assert.equal(await picture(again.page, "#io"), whole);
  assert.deepEqual(again.wrong, []);
  await again.close();
});

test("charts over time show the same time", async () => {
  const { page, wrong, close } = await open("measured");
  await drawn(page, "occupancy");
  await drawn(page, "io");
  const before = await picture(page, "#occupancy");
  await zoomIn(page, "io");
  await settle(page);
  assert.notEqual(await picture(page, "#occupancy"), before);
  assert.deepEqual(wrong, []);
  await close();
});

test("the address names the run of several, and another run shows all of its time", async () => {
  const { page, wrong, close } = await open("compared", {
    hash: "#occupancy&run=2&t=0.5,1",
  });
  assert.equal(await page.locator("#main").getAttribute("data-run"), "1");
  assert.equal(await page.locator("#run").inputValue(), "1");
  assert.equal(await hash(page), "#occupancy&run=2&t=0.5,1");
  await page.locator("#run").selectOption("0");
  assert.equal(await hash(page), "#occupancy");
  assert.deepEqual(wrong, []);
  await close();
});

test("an address that says nothing sensible shows the page from its top", async () => {
  for (const odd of [
    "#nothing&t=9,1",
    "#t=a,b&run=99",
    "#&&&",
    "#run=-1",
    "#__proto__&t=1",
  ]) {
    const { page, wrong, close } = await open("measured", { hash: odd });
    assert.equal(await page.evaluate(() => scrollY), 0, odd);
    assert.equal(await page.locator("#main").getAttribute("data-run"), "0");
    await drawn(page, "overview");
    assert.deepEqual(wrong, [], odd);
    await close();
  }
});

test("the link beside a heading, and back", async () => {
  const { page, wrong, close } = await open("measured");
  await page.locator("#sizes h2").hover();
  await page.locator("#sizes h2 a.self").click();
  assert.equal(await hash(page), "#sizes");
  assert.ok((await top(page, "sizes")) < 140);
  const heard = await page
    .getByRole("region", { name: "File sizes", exact: true })
    .count();
  assert.equal(heard, 1, "the name of the panel is its title alone");
  await page.goBack();
  assert.deepEqual(wrong, []);
  await close();
});
