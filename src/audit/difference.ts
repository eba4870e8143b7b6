import { AUDIT_DIFFERENCES_MAX } from "../limits.ts";

/**
 * What can be wrong, each in words for a person. docs/verify.md lists the same with what to do about it. Nothing here
 * names a person: only numbers of rows, and names of columns.
 */
export const DIFFERENCE_KINDS = {
  body_changed: "the receipt's bytes do not have the SHA-256 that was recorded at their arrival",
  signature_wrong: "the signature does not fit the receipt's bytes, timestamp and recorded key",
  key_unknown: "the recorded key is not there, or belongs to another source",
  unsigned: "the receipt has no signature, and its source never takes unsigned ones",
  receipt_missing: "a row came from a receipt that is not there",
  event_missing: "the item is in no event",
  event_changed: "the event is not what its item says",
  event_surplus: "no item of its receipt accounts for this event",
  repair_missing: "the event that a repair filed is not there, and nothing took its place",
  repair_surplus: "an event that no webhook brought, and that no repair accounts for",
  quarantine_missing: "the item cannot be read, and is not in quarantine",
  quarantine_changed: "the quarantined item is not what its receipt holds",
  quarantine_surplus: "no item of its receipt accounts for this row of quarantine",
  message_missing: "an event belongs to a message that is not there",
  message_changed: "the message is not what its events give",
  message_empty: "the message has no event",
  twins_wrong: "of n events that look the same not exactly n - 1 are flagged as twins",
  tally_wrong: "the tally is not what bytes and rows give",
} as const;

export type DifferenceKind = keyof typeof DIFFERENCE_KINDS;

export interface Difference {
  kind: DifferenceKind;
  receipt?: number | undefined;
  /** The item's place in its receipt; -1 is the whole body. */
  ordinal?: number | undefined;
  /** Numbers of rows. */
  message?: number | undefined;
  quarantine?: number | undefined;
  /** The gap that was repaired. */
  repair?: number | undefined;
  /** Columns that differ. */
  fields?: readonly string[] | undefined;
  /** Of a tally: its hour (ISO 8601), its source's name, and the figures of the columns that differ. */
  hour?: string | undefined;
  source?: string | undefined;
  recorded?: Readonly<Record<string, number>> | undefined;
  counted?: Readonly<Record<string, number>> | undefined;
}

/** All differences are counted, the first are listed. */
export interface Differences {
  total: number;
  listed: Difference[];
}

export function addDifference(differences: Differences, difference: Difference): void {
  differences.total += 1;
  if (differences.listed.length < AUDIT_DIFFERENCES_MAX) differences.listed.push(difference);
}
