/** Excel reads a file as UTF-8 only when it begins with this. */
export const CSV_BEGIN = "\uFEFF";

/**
 * What spreadsheets take for the beginning of a formula, their full-width forms too. Such a cell gets an apostrophe in
 * front, which makes it text: a subject may be `=HYPERLINK(…)`, and it was written by a stranger.
 */
const FORMULA = /^[\s\u200b\ufeff]*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/;

/** One line, every cell quoted (RFC 4180). */
export function csvLine(cells: readonly (string | number | boolean | null)[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

function csvCell(value: string | number | boolean | null): string {
  if (value === null) return "";
  if (typeof value !== "string") return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return `"${text.replaceAll('"', '""')}"`;
}
