/**
 * SQL: whom a row of `events` is about. '' stands for its message's recipient (sql/0017). The view `whole_events` has it like
 * this too, for whoever reads the whole detail as well. Test: ledger/event-recipient.pg.test.ts.
 */
export function eventRecipient(event: string): string {
  return `CASE WHEN ${event}.recipient = '' THEN (SELECT recipient FROM messages WHERE id = ${event}.message) ELSE ${event}.recipient END`;
}
