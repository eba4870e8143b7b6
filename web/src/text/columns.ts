/** The columns of the list of messages besides the recipient, who is always there, in their order. */
export const COLUMNS = [
  "time",
  "first",
  "state",
  "subject",
  "about",
  "category",
  "opened",
  "clicked",
  "source",
  "id",
] as const;
export type Column = (typeof COLUMNS)[number];

/** The list is in the order in which mails were first heard of, so that is the time it shows. */
export const DEFAULT_COLUMNS: readonly Column[] = ["first", "state", "subject", "about", "opened", "clicked"];

const STORAGE_KEY = "holdfast.columns";

/** Reads names separated by commas. What is not known is left out, and each stands once, in its place. */
export function readColumns(text: string): readonly Column[] {
  const names = new Set(text.split(","));
  return COLUMNS.filter((column) => names.has(column));
}

/** What the address says, else the reader's own choice, else the first one. */
export function chosenColumns(inAddress: string): readonly Column[] {
  const named = readColumns(inAddress);
  if (named.length > 0) return named;
  const own = readColumns(stored());
  return own.length > 0 ? own : DEFAULT_COLUMNS;
}

function stored(): string {
  try {
    return localStorage.getItem(STORAGE_KEY) ?? "";
  } catch {
    return "";
  }
}

/** Remembers a choice, for every list that is opened without one in its address. */
export function keepColumns(columns: readonly Column[]): void {
  try {
    localStorage.setItem(STORAGE_KEY, columns.join(","));
  } catch {
    // The address still holds it.
  }
}
