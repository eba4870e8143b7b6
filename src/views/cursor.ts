import { ClientError } from "../errors.ts";

/** Which list a cursor belongs to. */
type CursorKind = "m" | "q" | "a" | "g" | "r";

/** The place after a row, as opaque text. It names a row number and nothing else: whoever holds it learns nothing. */
export function writeCursor(kind: CursorKind, rowNumber: number): string {
  return Buffer.from(`${kind}${rowNumber}`).toString("base64url");
}

/** @throws ClientError `cursor_invalid` for anything but a text that `writeCursor` made for this kind of list. */
export function readCursor(kind: CursorKind, cursor: string): number {
  const [, digits] =
    new RegExp(`^${kind}([1-9]\\d{0,15})$`).exec(Buffer.from(cursor, "base64url").toString("latin1")) ?? [];
  const rowNumber = Number(digits);
  // Decoding forgives what encoding never makes (line breaks, padding), so only the exact text is taken.
  if (digits === undefined || !Number.isSafeInteger(rowNumber) || writeCursor(kind, rowNumber) !== cursor) {
    throw new ClientError("cursor_invalid");
  }
  return rowNumber;
}
