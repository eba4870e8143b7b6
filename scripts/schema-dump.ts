import type { Queryable } from "../src/postgres/pool.ts";

const HEADER = `-- The schema as it stands after all migrations: to be read, and compared by \`npm run check\`. Never run.
-- Made by \`npm run schema\`. Do not edit: write a migration.
`;

/**
 * The schema of a freshly migrated database as readable SQL, from PostgreSQL's catalogue. The text is the same for every
 * PostgreSQL from 15 on.
 *
 * @throws when the schema holds a kind of thing that this does not know to write down: a dump with a hole proves nothing.
 */
export async function dumpSchema(database: Queryable): Promise<string> {
  await refuseUnknown(database);
  return [
    HEADER,
    ...(await enums(database)),
    ...(await sequences(database)),
    ...(await tables(database)),
    ...(await definitions(database, VIEWS)),
    ...(await definitions(database, FUNCTIONS)),
    ...(await definitions(database, TRIGGERS)),
  ].join("\n");
}

/** Kinds that no migration uses so far. Whoever uses one teaches this file about it. */
const UNKNOWN = `
  SELECT 'schema' AS kind, nspname AS name FROM pg_namespace
    WHERE nspname !~ '^pg_' AND nspname NOT IN ('information_schema', 'public')
  UNION ALL SELECT 'extension', extname FROM pg_extension WHERE extname <> 'plpgsql'
  UNION ALL SELECT 'type', t.typname FROM pg_type t LEFT JOIN pg_class c ON c.oid = t.typrelid
    WHERE t.typnamespace = 'public'::regnamespace
      AND (t.typtype IN ('d', 'r') OR t.typtype = 'c' AND c.relkind = 'c')
  UNION ALL SELECT 'relation', relname FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind NOT IN ('r', 'p', 'i', 'I', 'S', 'v')
  UNION ALL SELECT 'policy', polname FROM pg_policy
  UNION ALL SELECT 'rule', rulename FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class
    WHERE c.relnamespace = 'public'::regnamespace AND rulename <> '_RETURN'
  UNION ALL SELECT 'statistics', stxname FROM pg_statistic_ext
  UNION ALL SELECT 'inheritance', c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE NOT c.relispartition
  UNION ALL SELECT 'comment', d.description FROM pg_description d JOIN pg_class c ON c.oid = d.objoid
    WHERE c.relnamespace = 'public'::regnamespace`;

async function refuseUnknown(database: Queryable): Promise<void> {
  const { rows } = await database.query<{ kind: string; name: string }>(UNKNOWN);
  if (rows.length === 0) return;
  throw new Error(`schema-dump.ts cannot write down: ${rows.map(({ kind, name }) => `${kind} ${name}`).join(", ")}`);
}

async function enums(database: Queryable): Promise<string[]> {
  const { rows } = await database.query<{ name: string; labels: string[] }>(`
    SELECT t.typname AS name, array_agg(quote_literal(e.enumlabel) ORDER BY e.enumsortorder) AS labels
    FROM pg_type t JOIN pg_enum e ON e.enumtypid = t.oid
    WHERE t.typnamespace = 'public'::regnamespace
    GROUP BY t.typname ORDER BY t.typname COLLATE "C"`);
  return rows.map(({ name, labels }) => `CREATE TYPE ${name} AS ENUM (${labels.join(", ")});\n`);
}

/** Those with a life of their own; an identity column's are said at the column. */
async function sequences(database: Queryable): Promise<string[]> {
  const { rows } = await database.query<{ sql: string }>(`
    SELECT format('CREATE SEQUENCE %I AS %s INCREMENT BY %s MINVALUE %s MAXVALUE %s START WITH %s CACHE %s%s;', c.relname,
      format_type(s.seqtypid, NULL), s.seqincrement, s.seqmin, s.seqmax, s.seqstart, s.seqcache,
      CASE WHEN s.seqcycle THEN ' CYCLE' ELSE '' END) AS sql
    FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid
    WHERE c.relnamespace = 'public'::regnamespace
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'i')
    ORDER BY c.relname COLLATE "C"`);
  return rows.map(({ sql }) => `${sql}\n`);
}

interface Table {
  oid: number;
  name: string;
  unlogged: boolean;
  partitionBy: string | null;
  partitionOf: string | null;
  options: string | null;
  columns: string[] | null;
  constraints: string[] | null;
  indexes: string[] | null;
}

/**
 * Columns in their physical order, constraints by kind and name. NOT NULL is said at its column on every version, though
 * PostgreSQL 18 also lists it as a constraint. What a partition has from its parent is said there. A column's compression
 * is left out: not every build has lz4, and the migration takes what there is.
 */
const TABLES = `
  SELECT c.oid, quote_ident(c.relname) AS name, c.relpersistence = 'u' AS unlogged,
    pg_get_partkeydef(c.oid) AS "partitionBy",
    CASE WHEN c.relispartition THEN (
      SELECT format('%s %s', i.inhparent::regclass, pg_get_expr(c.relpartbound, c.oid))
      FROM pg_inherits i WHERE i.inhrelid = c.oid) END AS "partitionOf",
    array_to_string(ARRAY(SELECT o FROM unnest(c.reloptions) o ORDER BY o COLLATE "C"), ', ') AS options,
    ARRAY(
      SELECT concat_ws(' ', quote_ident(a.attname), format_type(a.atttypid, a.atttypmod),
        CASE WHEN a.attstorage <> t.typstorage
          THEN 'STORAGE ' || CASE a.attstorage WHEN 'p' THEN 'PLAIN' WHEN 'e' THEN 'EXTERNAL' WHEN 'm' THEN 'MAIN' ELSE 'EXTENDED' END END,
        CASE WHEN a.attcollation <> t.typcollation
          THEN 'COLLATE ' || (SELECT quote_ident(collname) FROM pg_collation l WHERE l.oid = a.attcollation) END,
        CASE WHEN a.attnotnull THEN 'NOT NULL' END,
        CASE a.attidentity WHEN 'a' THEN 'GENERATED ALWAYS AS IDENTITY' WHEN 'd' THEN 'GENERATED BY DEFAULT AS IDENTITY' END,
        CASE a.attgenerated
          WHEN 's' THEN 'GENERATED ALWAYS AS (' || pg_get_expr(d.adbin, d.adrelid, true) || ') STORED'
          WHEN 'v' THEN 'GENERATED ALWAYS AS (' || pg_get_expr(d.adbin, d.adrelid, true) || ') VIRTUAL'
          ELSE 'DEFAULT ' || pg_get_expr(d.adbin, d.adrelid, true) END)
      FROM pg_attribute a
      JOIN pg_type t ON t.oid = a.atttypid
      LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
      WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      ORDER BY a.attnum) AS columns,
    ARRAY(
      SELECT format('CONSTRAINT %I %s', conname, pg_get_constraintdef(k.oid, true))
      FROM pg_constraint k
      WHERE k.conrelid = c.oid AND k.contype IN ('p', 'u', 'c', 'f', 'x') AND k.conparentid = 0
      ORDER BY position(k.contype::text IN 'pucfx'), conname COLLATE "C") AS constraints,
    ARRAY(
      SELECT pg_get_indexdef(x.indexrelid, 0, true)
      FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
      WHERE x.indrelid = c.oid AND NOT i.relispartition
        AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.oid AND k.contype IN ('p', 'u', 'x'))
      ORDER BY i.relname COLLATE "C") AS indexes
  FROM pg_class c
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
  ORDER BY c.relname COLLATE "C"`;

async function tables(database: Queryable): Promise<string[]> {
  const { rows } = await database.query<Table>(TABLES);
  return rows.map(describeTable);
}

function describeTable(table: Table): string {
  const create = table.unlogged ? "CREATE UNLOGGED TABLE" : "CREATE TABLE";
  const lines = [...(table.partitionOf === null ? (table.columns ?? []) : []), ...(table.constraints ?? [])];
  const body = lines.length === 0 ? "" : ` (\n${lines.map((line) => `  ${line}`).join(",\n")}\n)`;
  const head =
    table.partitionOf === null
      ? `${create} ${table.name}${body}`
      : `${create} ${table.name} PARTITION OF ${table.partitionOf}${body}`;
  const partitionBy = table.partitionBy === null ? "" : ` PARTITION BY ${table.partitionBy}`;
  const options = table.options === null || table.options === "" ? "" : ` WITH (${table.options})`;
  const indexes = (table.indexes ?? []).map((index) => `${index};\n`);
  return `${head}${partitionBy}${options};\n${indexes.join("")}`;
}

const VIEWS = `
  SELECT format('CREATE VIEW %I AS%s%s', relname, chr(10), rtrim(pg_get_viewdef(oid, true), ';')) AS sql FROM pg_class
  WHERE relnamespace = 'public'::regnamespace AND relkind = 'v' ORDER BY relname COLLATE "C"`;

const FUNCTIONS = `
  SELECT rtrim(pg_get_functiondef(oid), chr(10)) AS sql FROM pg_proc
  WHERE pronamespace = 'public'::regnamespace ORDER BY proname COLLATE "C", pg_get_function_identity_arguments(oid) COLLATE "C"`;

const TRIGGERS = `
  SELECT pg_get_triggerdef(t.oid, true) AS sql FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
  WHERE c.relnamespace = 'public'::regnamespace AND NOT t.tgisinternal
  ORDER BY c.relname COLLATE "C", t.tgname COLLATE "C"`;

async function definitions(database: Queryable, query: string): Promise<string[]> {
  const { rows } = await database.query<{ sql: string }>(query);
  return rows.map(({ sql }) => `${sql};\n`);
}
