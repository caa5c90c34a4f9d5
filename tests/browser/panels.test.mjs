// Lost if it failed: a panel that is blank, or a page that complains, in light or dark, of a run that
// was measured, simulated, or of several that are compared. Pictures of each stay in target/browser.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  PANELS,
  colours,
  drawn,
  open,
  shoot,
  start,
  stop,
} from "./browser.mjs";

before(start);
after(stop);

/** What a kind of page can do without, since nobody saw or told what the panel shows. */
const UNSEEN = ["io", "operations", "sizes", "tiers", "cost"];
const MAY_MISS = {
  measured: [],
  real: ["cost"],
  simulated: UNSEEN,
  study: UNSEEN,
  // Their first run is a simulated one, or one of the same.
  compared: UNSEEN,
  storages: ["cost"],
};
const COMPARING = ["compared", "storages"];

for (const name of Object.keys(MAY_MISS)) {
  for (const dark of [false, true]) {
    test(`each panel of a ${name} report is drawn, ${dark ? "dark" : "light"}`, async () => {
      const { page, wrong, close } = await open(name, { dark });
      const panels = COMPARING.includes(name) ? [...PANELS, "compare"] : PANELS;
      for (const panel of panels) {
        const section = page.locator(`#${panel}`);
        const missing = /\bmissing\b/.test(await section.getAttribute("class"));
        if (missing) {
          assert.ok(
            MAY_MISS[name].includes(panel),
            `${panel}: ${await section.innerText()}`,
          );
          assert.ok(
            (await section.locator(".empty").innerText()).length > 10,
            `${panel} says why`,
          );
        } else {
          await drawn(page, panel);
          const counts = await colours(page, panel);
          assert.ok(counts.length > 0, `${panel} has a chart`);
          for (const count of counts)
            assert.ok(count > 8, `${panel}: a chart of ${count} colours`);
        }
        await shoot(page, panel, `${name}-${dark ? "dark" : "light"}`);
      }
      await page.evaluate(() => scrollTo(0, 0));
      const verdict = await page.locator("h1.verdict").innerText();
      assert.ok(verdict.length > 20, `a verdict in a sentence: ${verdict}`);
      const ground = await page.evaluate(
        () => getComputedStyle(document.body).backgroundColor,
      );
      const [red] = ground.match(/\d+/g).map(Number);
      assert.ok(
        dark ? red < 60 : red > 200,
        `${ground} in ${dark ? "dark" : "light"}`,
      );
      assert.deepEqual(wrong, []);
      await close();
    });
  }
}

for (const name of [
  "measured",
  "compared",
  "storages",
  "hostile",
  "one-task",
]) {
  test(`a telephone shows a ${name} report without a scroll to the side`, async () => {
    const { page, wrong, close } = await open(name, { width: 390 });
    const panels = COMPARING.includes(name) ? [...PANELS, "compare"] : PANELS;
    for (const panel of panels) {
      await drawn(page, panel);
      await shoot(page, panel, `${name}-390`);
    }
    const [inner, outer, wide] = await page.evaluate(() => [
      document.documentElement.scrollWidth,
      document.documentElement.clientWidth,
      // What has no scroll of its own, and goes beyond the window.
      [...document.querySelectorAll("#report *")]
        .filter((at) => !at.closest(".scroll table, nav, .floating, .skip"))
        .filter((at) => at.getBoundingClientRect().right > innerWidth + 1)
        .map((at) =>
          `${at.tagName}.${at.className} ${at.textContent}`.slice(0, 60),
        ),
    ]);
    assert.ok(inner <= outer, `${inner} pixels in a window of ${outer}`);
    assert.deepEqual(wide, []);
    // All of the bar can be reached.
    for (const name of ["Print", "Dark"])
      assert.ok(
        (await page.locator(".bar").getByRole("button", { name }).boundingBox())
          .x +
          30 <
          390,
        name,
      );
    assert.deepEqual(wrong, []);
    await close();
  });
}
