import { int2Array, int4Array, textArray, timestamptzArray } from "../postgres/binary-array.ts";
import { COUNTS, EARLIEST, LATEST, type MessageState } from "./merge.ts";

/**
 * States of messages as rows of a statement: a binary array for each column. As one JSON text, whose every row names its columns
 * and writes its times out, 700 of them took PostgreSQL 16 ms to read where this takes 8.5; the whole statement that
 * inserts new messages 20 to 28 where it takes 16.
 */

interface StateColumn {
  name: string;
  /** The type of its array's elements. */
  array: string;
  /** Its own type, where that has no binary array here: it comes as text. */
  cast?: string;
  values: (states: readonly MessageState[]) => Buffer;
}

const COLUMNS: readonly StateColumn[] = [
  ...[...EARLIEST, ...LATEST].map((name) => ({
    name,
    array: "timestamptz",
    values: (states: readonly MessageState[]) => timestamptzArray(states.map(({ times }) => times[name] ?? null)),
  })),
  ...COUNTS.map((name) => ({
    name,
    array: "int4",
    values: (states: readonly MessageState[]) => int4Array(states.map(({ counts }) => counts[name])),
  })),
  { name: "source", array: "int2", values: (states) => int2Array(states.map(({ source }) => source)) },
  textColumn("recipient", ({ recipient }) => recipient),
  { ...textColumn("delivery", ({ delivery }) => delivery), cast: "delivery" },
  { ...textColumn("categories", ({ categories }) => arrayLiteral(categories)), cast: "text[]" },
  { ...textColumn("args", ({ args }) => JSON.stringify(args)), cast: "jsonb" },
];

function textColumn(name: string, textOf: (state: MessageState) => string | null): StateColumn {
  return { name, array: "text", values: (states) => textArray(states.map(textOf)) };
}

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

/** The parameters for `stateRows`: an array for each column, with a value for each state. */
export function stateArrays(states: readonly MessageState[]): Buffer[] {
  return COLUMNS.map(({ values }) => values(states));
}

/** PostgreSQL's text of an array. */
function arrayLiteral(texts: readonly string[]): string {
  return `{${texts.map((text) => `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`).join(",")}}`;
}
