/** Above every other character in UTF-8's order: `text` || this is the end of all that begins with `text`. */
const AFTER_ALL = "U&'\\+10FFFF'";

/** SQL: a text in the order of its bytes (collation "C") begins with another. As a range, which an index of the text knows. */
export function beginsWith(expression: string, start: string): string {
  return `${expression} >= ${start} AND ${expression} < ${start} || ${AFTER_ALL}`;
}
