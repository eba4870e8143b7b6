import { int2Array, int4Array, textArray, timestamptzArray } from "../postgres/binary-array.ts";
import { COUNTS, EARLIEST, LATEST, type MessageState } from "./merge.ts";

/**
 * States of messages as rows of a statement: a binary array for each column. As one JSON text, whose every row names its columns
 * and writes its times out, 700 of them took PostgreSQL 16 ms to read where this takes 8.5; the whole statement that
 * inserts new messages 20 to 28 where it takes 16.
 */

const TIMES = [...EARLIEST, ...LATEST] as const;
/** What stands last has no array of its own kind: it comes as text, and is cast. */
const COLUMNS: readonly { name: string; array: string; cast?: string }[] = [
  ...TIMES.map((name) => ({ name, array: "timestamptz" })),
  ...COUNTS.map((name) => ({ name, array: "int4" })),
  { name: "source", array: "int2" },
  { name: "recipient", array: "text" },
  { name: "delivery", array: "text", cast: "delivery" },
  { name: "categories", array: "text", cast: "text[]" },
  { name: "args", array: "text", cast: "jsonb" },
];

/** The columns of a state, as a list for SQL. */
export const STATE_COLUMNS = COLUMNS.map(({ name }) => name).join(", ");

/**
 * A subquery with a row for each state. `before` are columns that stand before the state's own, by their types; their arrays come
 * first among the parameters, and `stateArrays` after them.
 */
export function stateRows(before: Readonly<Record<string, string>>): string {
  const names = [...Object.keys(before), STATE_COLUMNS].join(", ");
  const arrays = [...Object.values(before), ...COLUMNS.map(({ array }) => array)];
  const parameters = arrays.map((array, index) => `$${index + 1}::${array}[]`).join(", ");
  const columns = COLUMNS.map(({ name, cast }) => (cast === undefined ? name : `${name}::${cast}`));
  return `(SELECT ${[...Object.keys(before), ...columns].join(", ")} FROM unnest(${parameters}) AS state (${names}))`;
}

/** How many parameters `stateArrays` gives. */
export const STATE_ARRAYS = COLUMNS.length;

export function stateArrays(states: readonly MessageState[]): Buffer[] {
  return [
    ...TIMES.map((column) => timestamptzArray(states.map(({ times }) => times[column] ?? null))),
    ...COUNTS.map((column) => int4Array(states.map(({ counts }) => counts[column]))),
    int2Array(states.map(({ source }) => source)),
    textArray(states.map(({ recipient }) => recipient)),
    textArray(states.map(({ delivery }) => delivery)),
    textArray(states.map(({ categories }) => arrayLiteral(categories))),
    textArray(states.map(({ args }) => JSON.stringify(args))),
  ];
}

/** PostgreSQL's text of an array. */
function arrayLiteral(texts: readonly string[]): string {
  return `{${texts.map((text) => `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`).join(",")}}`;
}
