import { UsageError } from "../errors.ts";
import type { Pool } from "../postgres/pool.ts";
import { transaction } from "../postgres/transaction.ts";
import { parsePublicKeys, type PublicKey } from "../sendgrid/signature.ts";

/** A source as the settings describe it. */
export interface ConfiguredSource {
  name: string;
  simulated: boolean;
  keys: readonly PublicKey[];
  /** Whether a POST without any signature is taken. */
  unsignedAllowed: boolean;
}

/** A key as intake uses it: with its number in the database. */
export interface SourceKey {
  id: number;
  key: PublicKey["key"];
  /** Nothing is verified with it from then on; null: it stays valid. */
  validUntil: Date | null;
}

/** A source as intake uses it: with its numbers in the database. */
export interface Source {
  id: number;
  name: string;
  keys: readonly SourceKey[];
  unsignedAllowed: boolean;
}

/** What a key is called before the database has given it a number. A POST spooled with it is verified again (drain.ts). */
export const UNNUMBERED_KEY = 0;

/** The configured sources as intake uses them while there is no database to register them. */
export function unnumberedSources(configured: readonly ConfiguredSource[]): Map<string, Source> {
  return new Map(
    configured.map(({ name, keys, unsignedAllowed }) => {
      const unnumbered = keys.map(({ key }) => ({ id: UNNUMBERED_KEY, key, validUntil: null }));
      return [name, { id: 0, name, keys: unnumbered, unsignedAllowed }];
    }),
  );
}

export interface SourceSettings {
  SENDGRID_WEBHOOK_PUBLIC_KEY: string | undefined;
  HOLDFAST_SOURCES: ReadonlyMap<string, string> | undefined;
  HOLDFAST_ALLOW_UNSIGNED: boolean;
}

/** The source that takes what the simulator signed, and nothing else. */
export function simulationSource(publicKey: string): ConfiguredSource {
  return { name: "simulation", simulated: true, unsignedAllowed: false, keys: parsePublicKeys(publicKey) };
}

/**
 * The sources of the settings.
 *
 * @throws UsageError naming the setting (and the source) whose key is wrong.
 */
export function configuredSources(settings: SourceSettings): ConfiguredSource[] {
  const { SENDGRID_WEBHOOK_PUBLIC_KEY: defaultKeys, HOLDFAST_SOURCES: others, HOLDFAST_ALLOW_UNSIGNED } = settings;
  return [
    {
      name: "default",
      simulated: false,
      unsignedAllowed: HOLDFAST_ALLOW_UNSIGNED,
      keys: defaultKeys === undefined ? [] : readKeys("SENDGRID_WEBHOOK_PUBLIC_KEY", defaultKeys),
    },
    ...Array.from(others ?? [], ([name, keys]) => ({
      name,
      simulated: false,
      unsignedAllowed: false,
      keys: readKeys(`HOLDFAST_SOURCES, source ${name}:`, keys),
    })),
  ];
}

function readKeys(setting: string, text: string): PublicKey[] {
  try {
    return parsePublicKeys(text);
  } catch (error) {
    throw new UsageError(`${setting} ${error instanceof Error ? error.message : "is wrong"}`, { cause: error });
  }
}

/**
 * Writes the configured sources and keys down, so that each receipt can name the key that verified it, and gives them
 * with their numbers. A key that is no longer configured gets an end of validity and is kept. Keys of the page stay as
 * they are (keys.ts knows them), unless the settings name them too: then they are the settings' own.
 */
export async function registerSources(
  pool: Pool,
  configured: readonly ConfiguredSource[],
): Promise<Map<string, Source>> {
  const byName = [...configured].sort((a, b) => (a.name < b.name ? -1 : 1));
  return transaction(pool, async (tx) => {
    const sources = new Map<string, Source>();
    for (const { name, simulated, keys, unsignedAllowed } of byName) {
      const source = await tx.query<{ id: number }>(
        `INSERT INTO sources (name, simulated) VALUES ($1, $2)
         ON CONFLICT (name) DO UPDATE SET simulated = excluded.simulated RETURNING id`,
        [name, simulated],
      );
      const id = requireRow(source.rows).id;
      const registered: SourceKey[] = [];
      for (const { der, key } of keys) {
        const row = await tx.query<{ id: number }>(
          `INSERT INTO source_keys (source, public_key) VALUES ($1, $2)
           ON CONFLICT (source, public_key) DO UPDATE SET valid_until = NULL, origin = 'environment' RETURNING id`,
          [id, der],
        );
        registered.push({ id: requireRow(row.rows).id, key, validUntil: null });
      }
      // The simulator's key differs from data folder to data folder; several may use one database.
      if (!simulated) {
        await tx.query(
          `UPDATE source_keys SET valid_until = now()
           WHERE source = $1 AND origin = 'environment' AND valid_until IS NULL AND NOT id = ANY ($2)`,
          [id, registered.map((entry) => entry.id)],
        );
      }
      sources.set(name, { id, name, keys: registered, unsignedAllowed });
    }
    return sources;
  });
}

function requireRow<T>(rows: readonly T[]): T {
  const [row] = rows;
  if (row === undefined) throw new Error("a statement that must return a row returned none");
  return row;
}
