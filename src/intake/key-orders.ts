import type { Connection } from "../postgres/pool.ts";

/** What an admin ordered on the page: a key to add to a source, or another end of a key's validity. */
export interface KeyOrder {
  id: number;
  source: string | null;
  publicKey: Buffer | null;
  othersUntil: Date | null;
  key: number | null;
  validUntil: Date | null;
}

/**
 * Carries out one order. It touches keys of the page only: what the settings configure, and the simulator's key, stay as
 * they are whatever is ordered.
 */
export async function carryOut(tx: Connection, order: KeyOrder): Promise<void> {
  if (order.source !== null && order.publicKey !== null) await addKey(tx, order, order.source);
  else await endKey(tx, order);
}

async function addKey(tx: Connection, { publicKey, othersUntil }: KeyOrder, name: string): Promise<void> {
  await tx.query("INSERT INTO sources (name) VALUES ($1) ON CONFLICT (name) DO NOTHING", [name]);
  const added = await tx.query<{ id: number; source: number }>(
    `INSERT INTO source_keys (source, public_key, origin)
     SELECT id, $2, 'page' FROM sources WHERE name = $1 AND NOT simulated
     ON CONFLICT (source, public_key) DO UPDATE SET valid_until = NULL, origin = 'page'
       WHERE source_keys.origin = 'page' OR source_keys.valid_until <= now()
     RETURNING id, source`,
    [name, publicKey],
  );
  const [key] = added.rows;
  if (key === undefined || othersUntil === null) return;
  await tx.query(
    `UPDATE source_keys SET valid_until = $3
     WHERE source = $1 AND id <> $2 AND origin = 'page' AND (valid_until IS NULL OR valid_until > $3)`,
    [key.source, key.id, othersUntil],
  );
}

async function endKey(tx: Connection, { key, validUntil }: KeyOrder): Promise<void> {
  await tx.query("UPDATE source_keys SET valid_until = $2 WHERE id = $1 AND origin = 'page'", [key, validUntil]);
}
