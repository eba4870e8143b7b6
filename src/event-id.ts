/**
 * Conditions that find an event by its id. The index holds the ids' hashes (sql/0012), and only a condition that names the
 * hash lets PostgreSQL go straight to the one row of a nameless message's millions. Test: event-id.pg.test.ts.
 */

/** SQL: these two ids are the same. */
export function isEventId(column: string, id: string): string {
  return `(${column} = ${id} AND hashtextextended(${column}, 0) = hashtextextended(${id}, 0))`;
}

/** SQL: this id is one of a list, which is a parameter (`$2`). */
export function isEventIdOf(column: string, ids: string): string {
  const hashes = `ARRAY(SELECT hashtextextended(id, 0) FROM unnest(${ids}::text[]) AS id)`;
  return `(${column} = ANY (${ids}) AND hashtextextended(${column}, 0) = ANY (${hashes}))`;
}
