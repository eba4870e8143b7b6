import { KEY_ORDERS_MAX, KEY_RING_MS, KEY_USE_FLUSH_MS } from "../limits.ts";
import type { Log } from "../log.ts";
import { createLoop, type Loop } from "../loop.ts";
import type { Pool, Queryable } from "../postgres/pool.ts";
import { transaction } from "../postgres/transaction.ts";
import { parsePublicKeys, type PublicKey } from "../sendgrid/signature.ts";
import { carryOut, type KeyOrder } from "./key-orders.ts";
import type { Source, SourceKey } from "./sources.ts";

export interface KeyRingOptions {
  pool: Pool;
  log: Log;
  /** What the settings of this process gave: these sources and keys stay, whatever the page says. */
  configured: ReadonlyMap<string, Source>;
  /** Milliseconds since 1970. */
  now?: () => number;
}

/**
 * The keys that POSTs are verified with: those of this process's settings, which hold until it restarts, and those that
 * admins manage on the page, which every intake process learns within KEY_RING_MS.
 */
export interface KeyRing extends Loop {
  /** Always the same map; its contents follow the page. */
  sources: ReadonlyMap<string, Source>;
  /** Notes that a POST was verified with this key. */
  noteUse(key: number): void;
  /** Carries out what was ordered on the page, and learns the keys. @returns whether more is ordered. */
  tick(): Promise<boolean>;
}

export function createKeyRing(options: KeyRingOptions): KeyRing {
  const { pool, log, configured, now = Date.now } = options;
  const sources = new Map(configured);
  const parsed = new Map<number, PublicKey["key"]>();
  let used = new Map<number, Date>();
  let flushedMs = now();

  async function tick(): Promise<boolean> {
    let page = await readPage(pool, parsed);
    const carriedOut = page.isOrdered ? await carryOutOrders(pool, log) : 0;
    if (page.isOrdered) page = await readPage(pool, parsed);
    for (const [name, source] of merge(configured, page.sources)) sources.set(name, source);
    if (now() - flushedMs >= KEY_USE_FLUSH_MS) await flushUse();
    return carriedOut === KEY_ORDERS_MAX;
  }

  async function flushUse(): Promise<void> {
    flushedMs = now();
    const uses = used;
    used = new Map();
    await writeUse(pool, uses).catch((error: unknown) => {
      for (const [key, at] of uses) if (!used.has(key)) used.set(key, at);
      throw error;
    });
  }

  const loop = createLoop({ name: "keys", log, tick, idleMs: KEY_RING_MS });
  return {
    sources,
    noteUse: (key) => void used.set(key, new Date(now())),
    tick,
    ...loop,
    async stop() {
      await loop.stop();
      await flushUse();
    },
  };
}

/** Several processes take turns: the second waits for the first and then finds nothing left. @returns how many. */
async function carryOutOrders(pool: Pool, log: Log): Promise<number> {
  const done = await transaction(pool, async (tx) => {
    const orders = await tx.query<KeyOrder>(
      `SELECT id, source, public_key AS "publicKey", others_until AS "othersUntil", key, valid_until AS "validUntil"
       FROM source_key_orders ORDER BY id LIMIT ${KEY_ORDERS_MAX} FOR UPDATE`,
    );
    for (const order of orders.rows) await carryOut(tx, order);
    await tx.query("DELETE FROM source_key_orders WHERE id = ANY ($1)", [orders.rows.map(({ id }) => id)]);
    return orders.rows;
  });
  for (const { source, key } of done) log.info(source === null ? { key } : { source }, "an order about keys is done");
  return done.length;
}

interface PageKeyRow {
  source: number;
  name: string;
  id: number;
  der: Buffer;
  validUntil: Date | null;
}

interface Page {
  /** Whether something was ordered: hardly ever. */
  isOrdered: boolean;
  sources: Map<string, Source>;
}

/**
 * The page's keys, in one statement with whether there are orders. Keys that ended are left out, but their source stays
 * known: a POST to it is refused for its signature, not its path.
 */
async function readPage(db: Queryable, parsed: Map<number, PublicKey["key"]>): Promise<Page> {
  const { rows } = await db.query<{ isOrdered: boolean } & (PageKeyRow | { id: null })>({
    name: "read page keys",
    text: `SELECT EXISTS (SELECT FROM source_key_orders) AS "isOrdered", page.*
      FROM (SELECT) AS always LEFT JOIN (
        SELECT s.id AS source, s.name, k.id, k.public_key AS der, k.valid_until AS "validUntil"
        FROM source_keys k JOIN sources s ON s.id = k.source WHERE k.origin = 'page' AND NOT s.simulated
      ) AS page ON true ORDER BY page.id DESC`,
  });
  const sources = new Map<string, Source>();
  const keyRows = rows.filter((row) => row.id !== null);
  for (const [name, keys] of Map.groupBy(keyRows, (row) => row.name)) {
    const id = keys[0]?.source ?? 0;
    sources.set(name, {
      id,
      name,
      unsignedAllowed: false,
      keys: keys.map((row) => toKey(row, parsed)).filter(isValid),
    });
  }
  return { isOrdered: rows[0]?.isOrdered === true, sources };
}

function toKey({ id, der, validUntil }: PageKeyRow, parsed: Map<number, PublicKey["key"]>): SourceKey {
  // A key's number never comes to mean another key, and reading one costs more than all the rest.
  let key = parsed.get(id);
  if (key === undefined) {
    [{ key }] = parsePublicKeys(der.toString("base64")) as [PublicKey];
    parsed.set(id, key);
  }
  return { id, key, validUntil };
}

/** Whether a POST that arrives now may be verified with it. */
export function isValid({ validUntil }: Pick<SourceKey, "validUntil">, nowMs = Date.now()): boolean {
  return validUntil === null || validUntil.getTime() > nowMs;
}

/** The configured sources with the page's keys behind their own, and the page's own sources. */
function merge(configured: ReadonlyMap<string, Source>, page: ReadonlyMap<string, Source>): Map<string, Source> {
  const merged = new Map(page);
  for (const [name, source] of configured) {
    const own = new Set(source.keys.map(({ id }) => id));
    const added = page.get(name)?.keys.filter(({ id }) => !own.has(id)) ?? [];
    merged.set(name, { ...source, keys: [...source.keys, ...added] });
  }
  return merged;
}

async function writeUse(db: Queryable, uses: ReadonlyMap<number, Date>): Promise<void> {
  if (uses.size === 0) return;
  const rows = [...uses].map(([id, at]) => ({ id, at })).sort((a, b) => a.id - b.id);
  await db.query(
    `UPDATE source_keys AS k SET used_at = greatest(k.used_at, u.at)
     FROM jsonb_to_recordset($1::jsonb) AS u (id smallint, at timestamptz) WHERE k.id = u.id`,
    [JSON.stringify(rows)],
  );
}
