import { SIMULATED_COMPARE_MESSAGES_MAX, SIMULATED_STILL_MS_MAX } from "../limits.ts";
import type { Manifest } from "./manifest.ts";
import type { SimulatedEvent, SimulatedMessage } from "./traffic.ts";
import type { WireEvent } from "./truth.ts";

/** One event as the ledger holds it. */
export interface LedgerRow {
  /** undefined for the source's nameless message. */
  messageId: string | undefined;
  eventId: string;
  type: string;
  atSeconds: number;
  recipient: string | null;
}

/** The two ways to look into a ledger: its database, and its REST interface. */
export interface LedgerReader {
  /** Receipts that are not projected yet. */
  pending(): Promise<number>;
  /** All events of these messages. */
  eventsOf(messageIds: readonly string[]): Promise<LedgerRow[]>;
  /** Events of the nameless message to these recipients; undefined where that cannot be asked. */
  namelessEventsTo(recipients: readonly string[]): Promise<LedgerRow[]> | undefined;
  /** Quarantined items of these receipts; undefined where that cannot be asked. */
  quarantinedIn(receipts: readonly string[]): Promise<number> | undefined;
  close(): Promise<void>;
}

export interface Comparison {
  /** Events of this traffic that are in the ledger. */
  processed: number;
  /** Acknowledged events that are not. */
  lost: number;
  /** Rows of this traffic's messages that nothing accounts for: an event filed a second time, or changed. */
  double: number;
  /** Broken items: acknowledged, and found in quarantine. */
  quarantined: { expected: number; found: number };
  /** Acknowledged events that could not be looked for. */
  unchecked: number;
  /** At most EXAMPLES_MAX ids for each. */
  examples: { lost: string[]; double: string[] };
}

const EXAMPLES_MAX = 10;
const POLL_MS = 250;

/**
 * Waits until the inbox is empty, or until nothing has moved for a minute.
 *
 * @returns the receipts still pending.
 */
export async function waitUntilProjected(
  ledger: LedgerReader,
  options: { wait: (ms: number) => Promise<unknown>; now: () => number; onPending?: (receipts: number) => void },
): Promise<number> {
  const { wait, now, onPending } = options;
  let lowest = Infinity;
  let movedMs = now();
  for (;;) {
    const pending = await ledger.pending();
    onPending?.(pending);
    if (pending === 0) return 0;
    if (pending < lowest) {
      lowest = pending;
      movedMs = now();
    }
    if (now() - movedMs >= SIMULATED_STILL_MS_MAX) return pending;
    await wait(POLL_MS);
  }
}

/**
 * Compares by id what was acknowledged with what the ledger holds: every acknowledged event exactly once. The traffic is
 * made anew rather than remembered, so that memory does not grow with it.
 */
export async function compareWithLedger(
  messages: Iterable<SimulatedMessage>,
  manifest: Manifest,
  ledger: LedgerReader,
  onCompared?: (events: number) => void,
): Promise<Comparison> {
  const examples = { lost: [], double: [] };
  const result: Comparison = {
    processed: 0,
    lost: 0,
    double: 0,
    unchecked: 0,
    quarantined: { expected: 0, found: 0 },
    examples,
  };
  let compared = 0;
  for (const chunk of chunks(messages, SIMULATED_COMPARE_MESSAGES_MAX)) {
    await compareChunk(chunk, manifest, ledger, result);
    compared += chunk.reduce((sum, message) => sum + message.events.length, 0);
    onCompared?.(compared);
  }
  await compareQuarantine(manifest, ledger, result);
  return result;
}

async function compareChunk(
  chunk: readonly SimulatedMessage[],
  manifest: Manifest,
  ledger: LedgerReader,
  result: Comparison,
): Promise<void> {
  const rows = Map.groupBy(await ledger.eventsOf(chunk.map((message) => message.messageId)), (row) => row.messageId);
  const nameless: SimulatedEvent[] = [];
  for (const { messageId, events } of chunk) {
    const named = events.filter((event) => event.wire["sg_message_id"] === messageId);
    nameless.push(...events.filter((event) => event.wire["sg_message_id"] !== messageId));
    const left = match(named, rows.get(messageId) ?? [], manifest, result);
    // Whatever else stands under a message of this traffic was never sent.
    for (const row of left) noteDouble(result, `${messageId} ${row.eventId}`);
  }
  if (nameless.length > 0) await compareNameless(nameless, manifest, ledger, result);
}

async function compareNameless(
  events: readonly SimulatedEvent[],
  manifest: Manifest,
  ledger: LedgerReader,
  result: Comparison,
): Promise<void> {
  const rows = await ledger.namelessEventsTo(events.map((event) => String(event.wire["email"])));
  if (rows === undefined) {
    result.unchecked += events.filter((event) => manifest.isAcknowledged(event.index)).length;
    return;
  }
  const left = match(events, rows, manifest, result);
  // The nameless message holds other events too: only those that look like one of these count.
  const contents = new Set(events.map((event) => contentOf(event.wire)));
  for (const row of left) {
    if (contents.has(rowContent(row))) noteDouble(result, `nameless ${row.eventId}`);
  }
}

/** Pairs events with rows, first by id, then by content those without one. @returns the rows that are left over. */
function match(
  events: readonly SimulatedEvent[],
  rows: readonly LedgerRow[],
  manifest: Manifest,
  result: Comparison,
): LedgerRow[] {
  const left = new Set(rows);
  const byId = Map.groupBy(rows, (row) => `${row.eventId} ${rowContent(row)}`);
  const settle = (event: SimulatedEvent, row: LedgerRow | undefined): void => {
    if (row !== undefined) {
      left.delete(row);
      result.processed += 1;
    } else if (manifest.isAcknowledged(event.index)) {
      result.lost += 1;
      const id = event.wire["sg_event_id"];
      if (result.examples.lost.length < EXAMPLES_MAX)
        result.examples.lost.push(
          `${String(event.truth?.["sg_message_id"] ?? event.wire["sg_message_id"])} ${String(id)}`,
        );
    }
  };
  const unnamed: SimulatedEvent[] = [];
  for (const event of events) {
    const id = event.wire["sg_event_id"];
    if (typeof id === "string")
      settle(
        event,
        byId.get(`${id} ${contentOf(event.wire)}`)?.find((row) => left.has(row)),
      );
    else unnamed.push(event);
  }
  for (const event of unnamed) {
    const content = contentOf(event.wire);
    settle(
      event,
      [...left].find((row) => rowContent(row) === content),
    );
  }
  return [...left];
}

function contentOf(wire: WireEvent): string {
  return `${String(wire["event"])} ${String(wire["timestamp"])} ${String(wire["email"])}`;
}

function rowContent(row: LedgerRow): string {
  return `${row.type} ${row.atSeconds} ${row.recipient ?? ""}`;
}

function noteDouble(result: Comparison, id: string): void {
  result.double += 1;
  if (result.examples.double.length < EXAMPLES_MAX) result.examples.double.push(id);
}

async function compareQuarantine(manifest: Manifest, ledger: LedgerReader, result: Comparison): Promise<void> {
  result.unchecked += manifest.brokenUnnamed;
  for (const receipts of chunks(manifest.brokenByReceipt, SIMULATED_COMPARE_MESSAGES_MAX)) {
    const expected = receipts.reduce((sum, [, broken]) => sum + broken, 0);
    const found = await ledger.quarantinedIn(receipts.map(([receipt]) => receipt));
    if (found === undefined) {
      result.unchecked += expected;
      continue;
    }
    result.quarantined.expected += expected;
    result.quarantined.found += found;
  }
}

function* chunks<T>(values: Iterable<T>, size: number): Generator<T[]> {
  let chunk: T[] = [];
  for (const value of values) {
    chunk.push(value);
    if (chunk.length < size) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}
