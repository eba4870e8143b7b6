import type { Queryable } from "../postgres/pool.ts";

export interface KeyRow {
  id: number;
  der: Buffer;
  origin: "environment" | "page";
  validFrom: Date;
  validUntil: Date | null;
  usedAt: Date | null;
}

export interface SourceKeysRow {
  name: string;
  simulated: boolean;
  createdAt: Date;
  /** Newest first. */
  keys: KeyRow[];
}

/** All sources with all their keys, and how many orders about them wait for intake. */
export async function readSources(tx: Queryable): Promise<{ sources: SourceKeysRow[]; ordersPending: number }> {
  const sources = await tx.query<Omit<SourceKeysRow, "keys"> & { id: number }>(
    `SELECT id, name, simulated, created_at AS "createdAt" FROM sources ORDER BY simulated, name <> 'default', name`,
  );
  const keys = await tx.query<KeyRow & { source: number }>(
    `SELECT id, source, public_key AS der, origin, valid_from AS "validFrom", valid_until AS "validUntil", used_at AS "usedAt"
     FROM source_keys ORDER BY id DESC`,
  );
  const orders = await tx.query<{ count: number }>("SELECT count(*) AS count FROM source_key_orders");
  const bySource = Map.groupBy(keys.rows, (key) => key.source);
  return {
    sources: sources.rows.map(({ id, name, simulated, createdAt }) => {
      return { name, simulated, createdAt, keys: bySource.get(id) ?? [] };
    }),
    ordersPending: orders.rows[0]?.count ?? 0,
  };
}

/** Whether a key verifies what arrives now. */
export function isLive({ validUntil }: Pick<KeyRow, "validUntil">): boolean {
  return validUntil === null || validUntil.getTime() > Date.now();
}
