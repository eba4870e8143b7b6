/**
 * SQL: a parameter whose value PostgreSQL does not look at while it plans. It plans a prepared statement anew each time as long as a
 * plan for the very values looks cheaper than one for any, and for a short list it always does: batches of two receipts took a
 * sixth longer. Not for the arrays of messages' states: hidden, these took longer than the planning. Test: plans.pg.test.ts.
 */
export function hidden(parameter: string, type: string): string {
  return `(SELECT ${parameter}::${type})::${type}`;
}
