// Builds the page into one script, one style sheet and a template, without a date, a path or a random
// name in them, so that the same sources give the same bytes.
//
//   node build.mjs [FOLDER]     default: where the Rust build takes them from

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const folder = process.argv[2] ?? join(here, "../crates/forebay/src/commands/report/bundle");

const PARTS = ["echarts/NOTICE", "zrender/LICENSE", "tslib/LICENSE.txt"];

/** What the licences of the parts want to stand with every copy. */
function notice() {
  const texts = PARTS.map((part) => readFileSync(join(here, "node_modules", part), "utf8").trim());
  const whole = `The page of forebay report, with these in it (Apache ECharts is under the Apache License 2.0,
https://www.apache.org/licenses/LICENSE-2.0):\n\n${texts.join("\n\n")}`;
  return `/*\n${whole.replaceAll("\r", "")}\n*/`;
}

async function bundle(entry, more) {
  const made = await build({
    absWorkingDir: here,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    charset: "ascii",
    legalComments: "none",
    target: ["chrome100", "firefox113", "safari16.4"],
    define: { "process.env.NODE_ENV": '"production"' },
    write: false,
    logLevel: "warning",
    ...more,
  });
  return made.outputFiles[0].text.trimEnd();
}

const js = await bundle("src/main.ts", { format: "iife", banner: { js: notice() } });
const css = await bundle("src/style.css", { charset: "utf8" });
// Either would end the element, or open a comment in it.
for (const [text, words] of [
  [js, ["</script", "<!--", "<script"]],
  [css, ["</style"]],
]) {
  for (const word of words) {
    if (text.toLowerCase().includes(word)) throw new Error(`the bundle has ${word} in it`);
  }
}

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
// Nothing but this script and this style; pictures for the canvas only.
const policy = [
  "default-src 'none'",
  `script-src ${hash(js)}`,
  `style-src ${hash(css)}`,
  "img-src data: blob:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");
const page = readFileSync(join(here, "src/page.html"), "utf8").replace("{{policy}}", policy);
for (const tight of ["<style>{{css}}</style>", "<script>{{js}}</script>"]) {
  if (!page.includes(tight))
    throw new Error(`page.html: the hashes are those of ${tight}, no space in it`);
}

mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, "page.js"), js);
writeFileSync(join(folder, "page.css"), css);
writeFileSync(join(folder, "page.html"), page);
const kib = (text) => `${(Buffer.byteLength(text) / 1024).toFixed(0)} KiB`;
console.log(`page.js ${kib(js)}, page.css ${kib(css)}, page.html ${kib(page)}`);
