// Tables as CSV (RFC 4180).

export type Cell = string | number | null;

/**
 * Spreadsheets take text that begins with one of these for a formula, and a file's name may; an
 * apostrophe in front keeps it text there.
 */
const FORMULA = /^[=+\-@\t\r]/;

function field(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell === "number") return Number.isFinite(cell) ? String(cell) : "";
  const text = FORMULA.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csv(header: string[], rows: Cell[][]): string {
  return [header, ...rows].map((row) => row.map(field).join(",") + "\r\n").join("");
}
