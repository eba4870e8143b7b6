import { AUDIT_MESSAGES_MAX } from "../limits.ts";
import type { Connection } from "../postgres/pool.ts";
import type { MessageExtras } from "./merge.ts";
import { checkMessages } from "./message-check.ts";
import { setMessages, setTwins, type TwinChange } from "./statements.ts";

export interface Corrected {
  /** Messages that were set to what their events give. */
  messages: number;
  twins: TwinChange[];
}

/**
 * Sets messages that are locked to what their events give, and their twin flags. One without any event is left as it is.
 * `atHand`: see `checkMessages`.
 */
export async function correctMessages(
  tx: Connection,
  messages: readonly number[],
  atHand: ReadonlyMap<number, MessageExtras>,
): Promise<Corrected> {
  const corrected: Corrected = { messages: 0, twins: [] };
  for (let start = 0; start < messages.length; start += AUDIT_MESSAGES_MAX) {
    const faults = await checkMessages(tx, messages.slice(start, start + AUDIT_MESSAGES_MAX), atHand);
    const twins = faults.flatMap((fault) => fault.twins.map((twin) => ({ message: fault.message, ...twin })));
    const changes = faults.flatMap(({ message, state, fields }) =>
      state === undefined || fields.length === 0 ? [] : [{ message, state }],
    );
    if (twins.length > 0) await setTwins(tx, twins);
    if (changes.length > 0) await setMessages(tx, changes);
    corrected.messages += changes.length;
    corrected.twins.push(...twins);
  }
  return corrected;
}
