import { setImmediate as turn } from "node:timers/promises";
import { PROJECT_TURN_BYTES } from "../limits.ts";
import type { Connection } from "../postgres/pool.ts";
import { unpackBody, type Unpackers } from "../receipt-body.ts";
import { readDictionaries } from "../receipt-dictionaries.ts";
import { beginParts, splitDetails, type DetailParts } from "./detail-parts.ts";
import { parseReceipt } from "./parse.ts";
import { batchEvent, groupByMessage, type BatchEvent, type MessageGroup } from "./plan.ts";
import { readBodies, type ClaimedReceipt, type ReceiptQuarantine } from "./statements.ts";
import { tallyOf, type Tallies, type Tally } from "./tally.ts";

/** Claimed receipts, read: all of their projection that needs to know nothing of the ledger. */
export interface PreparedBatch {
  receipts: readonly { id: number; source: number }[];
  events: readonly BatchEvent[];
  groups: readonly MessageGroup[];
  quarantined: readonly ReceiptQuarantine[];
  tallies: Tallies;
  /** The tally of each receipt's hour and source. */
  tallyOfReceipt: ReadonlyMap<number, Tally>;
}

/** What a process knows of tables whose rows never change. */
export interface Known {
  parts: DetailParts;
  dictionaries: Map<number, Buffer>;
  unpackers: Unpackers;
}

/**
 * Reads and parses what was claimed, in pieces of PROJECT_TURN_BYTES: so much is in memory as objects at once, what its events share is
 * learnt in one step (receipt by receipt, the first batches of a ledger took up to a second), and then others have a turn. A full batch
 * takes 20 to 50 ms, and so long no POST would be answered: with turns in between, the p99 of answers under overload was a quarter less.
 */
export async function prepareBatch(
  tx: Connection,
  claimed: readonly ClaimedReceipt[],
  { parts, dictionaries, unpackers }: Known,
): Promise<PreparedBatch> {
  beginParts(parts);
  const receipts = await readBodies(tx, claimed);
  await readDictionaries(tx, receipts, dictionaries);
  const tallies: Tallies = new Map();
  const tallyOfReceipt = new Map<number, Tally>();
  const events: BatchEvent[] = [];
  const quarantined: ReceiptQuarantine[] = [];
  const piece: EventOfReceipt[] = [];
  let bytes = 0;
  for (const { id, receivedAt, source, ...packed } of receipts) {
    if (bytes > PROJECT_TURN_BYTES) {
      await addPiece(tx, events, piece.splice(0), parts);
      await turn();
      bytes = 0;
    }
    const body = unpackBody(packed, dictionaries, unpackers);
    bytes += body.length;
    const parsed = parseReceipt(body);
    const tally = tallyOf(tallies, receivedAt, source);
    tallyOfReceipt.set(id, tally);
    tally.receipts += 1;
    tally.accepted += parsed.accepted;
    tally.sanitised += parsed.sanitised;
    for (const event of parsed.events) piece.push({ event, source, receipt: id });
    for (const item of parsed.quarantined) quarantined.push({ receipt: id, receivedAt, source, item });
  }
  await addPiece(tx, events, piece, parts);
  const groups = groupByMessage(events);
  return { receipts, events, groups, quarantined, tallies, tallyOfReceipt };
}

type EventOfReceipt = Pick<BatchEvent, "event" | "source" | "receipt">;

async function addPiece(
  tx: Connection,
  events: BatchEvent[],
  piece: readonly EventOfReceipt[],
  parts: DetailParts,
): Promise<void> {
  const details = await splitDetails(
    tx,
    piece.map(({ event }) => event),
    parts,
  );
  for (const [index, entry] of piece.entries()) events.push(batchEvent(entry, details[index]));
}
