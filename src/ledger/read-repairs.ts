import { AUDIT_MESSAGES_MAX } from "../limits.ts";
import type { Connection } from "../postgres/pool.ts";
import type { ParsedEvent } from "./event.ts";
import { readRepairItem } from "./repair-item.ts";

/** A repair whose event is still the one that it filed. */
export interface FiledRepair {
  gap: number;
  message: number;
  eventId: string;
  origin: string;
  /** What its item says; undefined: it cannot be read (any more). */
  event: ParsedEvent | undefined;
}

/** The repairs of these messages (beyond the first number, up to the second) whose events nothing has replaced, by parts. */
export async function* readFiledRepairs(
  tx: Connection,
  { after, upTo }: { after: number; upTo: number },
): AsyncGenerator<FiledRepair[]> {
  let afterGap = Number.MIN_SAFE_INTEGER;
  for (;;) {
    const { rows } = await tx.query<Omit<FiledRepair, "event"> & { item: string }>(
      `SELECT gap, message, event_id AS "eventId", origin, item::text AS item FROM repairs
       WHERE message > $1 AND message <= $2 AND outcome = 'filed' AND replaced_at IS NULL AND gap > $3
       ORDER BY gap LIMIT ${AUDIT_MESSAGES_MAX}`,
      [after, upTo, afterGap],
    );
    if (rows.length > 0) yield rows.map(({ item, ...repair }) => ({ ...repair, event: readRepairItem(item) }));
    const last = rows.at(-1);
    if (last === undefined || rows.length < AUDIT_MESSAGES_MAX) return;
    afterGap = last.gap;
  }
}
