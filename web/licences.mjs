// Licences of the packages that the page is built from and with: permissive ones only. Of those that
// end up in the page, their texts stand on top of page.js (build.mjs).

import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const PERMISSIVE = ["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"];

const here = dirname(fileURLToPath(import.meta.url));
let wrong = 0;
let looked = 0;
for (const folder of [here, join(here, "../tests/browser")]) {
  const lock = JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8"));
  for (const [path, found] of Object.entries(lock.packages)) {
    if (path === "") continue;
    looked += 1;
    // The lock repeats what the package says of itself; where it does not, the package is asked.
    const manifest = join(folder, path, "package.json");
    const own = existsSync(manifest)
      ? JSON.parse(readFileSync(manifest, "utf8")).license
      : undefined;
    const licence = own ?? found.license;
    if (PERMISSIVE.includes(licence)) continue;
    wrong += 1;
    console.error(`${path}: ${licence ?? "no licence"}`);
  }
}
if (looked === 0) throw new Error("no package was looked at");
process.exit(wrong > 0 ? 1 : 0);
