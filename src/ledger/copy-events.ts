import { copyIn } from "../postgres/copy.ts";
import type { Connection } from "../postgres/pool.ts";
import { EVENT_COLUMNS, eventRows } from "./event-row.ts";
import type { NewEvent } from "./statements.ts";

const COPY = `COPY events (${EVENT_COLUMNS}) FROM STDIN`;

/**
 * Stores events, by COPY, which fills whole pages and writes one record of PostgreSQL's log for each: 1,016 bytes of it an event
 * where an INSERT from one JSON parameter made 1,230. And with what that was made from in the heap, half of the projector's time in
 * Node was garbage collection.
 *
 * Invariant (promise P2): the index of identities has the last word on what is new. All that a message holds is known and locked
 * when its events come here, so none of them can be there; should one be all the same, the transaction fails, and nothing of
 * it is stored. Tests: project.pg.test.ts, copy-events.pg.test.ts.
 *
 * @returns how many rows PostgreSQL says it stored.
 */
export async function copyEvents(tx: Connection, events: readonly NewEvent[]): Promise<number> {
  return copyIn(tx, COPY, eventRows(events));
}
