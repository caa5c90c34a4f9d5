// Makes a page from what `forebay report --json` printed, as the command itself does: for work on the
// page without a Rust build.
//
//   node preview.mjs REPORT.json OUT.html

import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const bundle = join(
  dirname(fileURLToPath(import.meta.url)),
  "../crates/forebay/src/commands/report/bundle",
);
const [source, out] = process.argv.slice(2);
if (!out) throw new Error("usage: node preview.mjs REPORT.json OUT.html");
const part = (name) => readFileSync(join(bundle, name), "utf8");
const values = {
  title: "Forebay: preview",
  css: part("page.css"),
  js: part("page.js"),
  noscript: "",
  data: gzipSync(readFileSync(source)).toString("base64"),
};
// A function, since `$&` in a string would be replaced once more.
const page = part("page.html").replace(/\{\{(\w+)\}\}/g, (_, name) => values[name]);
writeFileSync(out, page);
