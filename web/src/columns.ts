// Columns of tables that many panels have: times in microseconds, amounts in bytes, counts, words.

import type { Column } from "./report";
import type { TableColumn } from "./table";
import { bounds, bytes, seconds, usd } from "./units";

export function times(title: string, column: Column, hint = "", bar = false): TableColumn {
  const value = (row: number): number | null => {
    const us = column[row];
    return us == null ? null : us / 1e6;
  };
  return { title, csv: `${title} (s)`, hint, bar, value, show: (row) => seconds(value(row)) };
}

export function amounts(title: string, column: Column, hint = "", bar = false): TableColumn {
  const value = (row: number): number | null => column[row] ?? null;
  return { title, csv: `${title} (bytes)`, hint, bar, value, show: (row) => bytes(value(row)) };
}

/** Bytes of which some were not seen, where `least` and `most` say how many they are. */
export function bounded(
  title: string,
  column: Column,
  least: Column,
  most: Column = [],
  hint = "",
): TableColumn {
  return {
    ...amounts(title, column, hint),
    bound: (row) => bounds(least[row], most[row]),
    order: (row) => column[row] ?? least[row] ?? most[row] ?? null,
  };
}

/** The same bounds for a CSV, where a cell is a bare number. */
export function limits(title: string, least: Column, most: Column = []): TableColumn[] {
  const some = (column: Column, word: string): TableColumn[] =>
    column.some((value) => value != null)
      ? [{ ...amounts(`${title} ${word}`, column), unseen: true }]
      : [];
  return [...some(least, "at least"), ...some(most, "at most")];
}

export function counts(title: string, column: Column, hint = "", bar = false): TableColumn {
  return { title, hint, bar, value: (row) => column[row] ?? null };
}

export function dollars(title: string, column: Column, bar = false): TableColumn {
  const value = (row: number): number | null => column[row] ?? null;
  return { title, csv: `${title} (US$)`, bar, value, show: (row) => usd(value(row)) };
}

export function words(title: string, of: (row: number) => string, hint = ""): TableColumn {
  return { title, hint, kind: "text", value: of };
}

export function paths(title: string, of: (row: number) => string, hint = ""): TableColumn {
  return { title, hint, kind: "path", value: of };
}
