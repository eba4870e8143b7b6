import type { Queryable } from "../postgres/pool.ts";

/** One of SendGrid's accounts: '' is the account of the API key, any other name is a subuser's. */
export interface Account {
  name: string;
  /** The webhooks that carry its events. Undefined: all that no other account names. */
  sources: readonly string[] | undefined;
}

/** An account with the numbers of its sources. */
export interface CountedAccount {
  name: string;
  sources: number[];
  /** One of them is simulated. */
  simulated: boolean;
}

/** The accounts of a setting that maps sources to subusers. */
export function accountsOf(subusers: ReadonlyMap<string, string> = new Map()): Account[] {
  const named = Map.groupBy(subusers, ([, subuser]) => subuser);
  return [
    { name: "", sources: undefined },
    ...[...named].map(([name, entries]) => ({ name, sources: entries.map(([source]) => source) })),
  ];
}

/**
 * The accounts that have a source, with the sources as they are now: an admin may have added some. SendGrid has never
 * heard of simulated sources, so that they count only where its API is the simulator's double; then they belong to ''.
 */
export async function countAccounts(
  db: Queryable,
  accounts: readonly Account[],
  includeSimulated: boolean,
): Promise<CountedAccount[]> {
  const found = await db.query<{ id: number; name: string; simulated: boolean }>(
    "SELECT id, name, simulated FROM sources WHERE $1 OR NOT simulated ORDER BY id",
    [includeSimulated],
  );
  const named = new Set(accounts.flatMap(({ sources }) => sources ?? []));
  return accounts.flatMap(({ name, sources }) => {
    const own = found.rows.filter((row) => (sources === undefined ? !named.has(row.name) : sources.includes(row.name)));
    if (own.length === 0) return [];
    return [{ name, sources: own.map(({ id }) => id), simulated: own.some(({ simulated }) => simulated) }];
  });
}
