// Rules of the page that no type checks: nothing is read as markup or as code, nothing asks a network,
// files say what they are and stay short, and each panel is in its table. Each rule is tried on a
// breach first: one that finds nothing there proves nothing.

import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const LINES_MAX = 250;
const BANNED = [
  "innerHTML",
  "outerHTML",
  "insertAdjacentHTML",
  "document.write",
  "eval(",
  "new Function",
  "fetch(",
  "XMLHttpRequest",
  "WebSocket",
  "import(",
  "localStorage",
  ": any",
  "as any",
  "@ts-ignore",
];

const source = join(dirname(fileURLToPath(import.meta.url)), "src");

function files(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? files(path) : path.endsWith(".ts") ? [path] : [];
  });
}

const rules = [
  (path, text) => BANNED.filter((word) => text.includes(word)).map((word) => `${path}: ${word}`),
  (path, text) =>
    text.startsWith("// ") ? [] : [`${path}: its first line does not say what it is`],
  (path, text) => {
    const code = text.split("\n").filter((line) => line.trim() && !/^\s*(\/\/|\*|\/\*)/.test(line));
    return code.length > LINES_MAX ? [`${path}: ${code.length} lines of code`] : [];
  },
];

const breaches = ["// a\nx.innerHTML = name;", "x();", `// a\n${"x();\n".repeat(LINES_MAX + 1)}`];
rules.forEach((rule, index) => {
  if (rule("a.ts", breaches[index]).length === 0) throw new Error(`rule ${index} finds nothing`);
});

const all = files(source).map((path) => [path, readFileSync(path, "utf8")]);
const found = all.flatMap(([path, text]) => rules.flatMap((rule) => rule(path, text)));

const table = readFileSync(join(source, "panels/index.ts"), "utf8");
const panels = all.filter(
  ([path]) => dirname(path).endsWith("panels") && basename(path) !== "index.ts",
);
if (panels.length < 10) found.push(`panels: there are ${panels.length}`);
for (const [path, text] of panels) {
  const name = basename(path, ".ts");
  if (!text.includes(`export const ${name}: Panel`))
    found.push(`${path}: exports no panel ${name}`);
  if (!new RegExp(`^  ${name},$`, "m").test(table))
    found.push(`panels/index.ts: does not list ${name}`);
}
for (const line of found) console.error(line);
process.exit(found.length > 0 ? 1 : 0);
