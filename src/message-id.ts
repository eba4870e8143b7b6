import { beginsWith } from "./begins-with.ts";
import { hidden } from "./postgres/hidden-parameter.ts";

/**
 * Conditions that find a message by its sg_message_id. The index holds the beginnings of the ids and their hashes (sql/0018), and only
 * conditions that name these let PostgreSQL use it. Test: message-id.pg.test.ts.
 */

/** SQL: these two ids are the same. */
export function isMessageId(column: string, id: string): string {
  return `(${column} = ${id} AND ${beginning(column)} = ${beginning(id)} AND hashtextextended(${column}, 0) = hashtextextended(${id}, 0))`;
}

/** SQL: this id is one of a list, which is a parameter (`$2`). Each is looked up by itself, whatever PostgreSQL knows of the table. */
export function withMessageIds(ids: string, columns: string): string {
  return `FROM unnest(${hidden(ids, "text[]")}) AS named (wanted)
    JOIN LATERAL (SELECT ${columns} FROM messages AS m WHERE ${isMessageId("m.message_id", "named.wanted")} OFFSET 0) AS m ON true`;
}

/** SQL: this id begins with a text. */
export function messageIdBeginsWith(column: string, start: string): string {
  return `(${beginsWith(beginning(column), beginning(start))} AND ${beginsWith(column, start)})`;
}

function beginning(id: string): string {
  return `left(${id}, 12)`;
}
