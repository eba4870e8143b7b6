import { expect, test } from "vitest";
import { PROJECT_TURN_BYTES } from "../limits.ts";
import type { Connection } from "../postgres/pool.ts";
import { createDetailParts } from "./detail-parts.ts";
import { prepareBatch } from "./prepare.ts";

/** Reads receipts with bodies of so many bytes. @returns how many turns others had meanwhile. */
async function turnsWhileReading(...bytes: number[]): Promise<number> {
  const receivedAt = new Date();
  const rows = bytes.map((length, id) => ({
    id,
    receivedAt,
    source: 1,
    codec: 0,
    bytes: null,
    body: Buffer.from(
      `[${JSON.stringify({ event: "open", email: "a@example.com", timestamp: 1764511327, sg_event_id: `e${id}` })}]`.padEnd(
        length,
      ),
    ),
  }));
  // Answers without a turn of its own, which a server could not.
  const tx = { query: () => Promise.resolve({ rows }) } as unknown as Connection;
  const claimed = rows.map(({ id, body }) => ({ receipt: id, receivedAt, bytes: body.length, attempts: 0 }));
  let turns = 0;
  let next = setImmediate(function count() {
    turns += 1;
    next = setImmediate(count);
  });
  const known = { parts: createDetailParts(), dictionaries: new Map(), unpackers: new WeakMap() };
  const { events } = await prepareBatch(tx, claimed, known);
  clearImmediate(next);
  expect(events).toHaveLength(bytes.length);
  return turns;
}

test("Whoever else has something to do has a turn after so many bytes of a batch, and not before", async () => {
  const half = PROJECT_TURN_BYTES / 2;
  expect(await turnsWhileReading(half, half, half)).toBe(0);
  expect(await turnsWhileReading(half, half + 1, half)).toBe(1);
  expect(await turnsWhileReading(...Array.from({ length: 10 }, () => half))).toBe(3);
  expect(await turnsWhileReading(10 * PROJECT_TURN_BYTES, half, 10 * PROJECT_TURN_BYTES, half)).toBe(2);
});
