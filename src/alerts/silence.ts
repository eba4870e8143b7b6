import { SILENCE_BUSY_WEEKS_MIN, SILENCE_GIVEN_UP_DAYS, SILENCE_RECEIPTS_MIN, SILENCE_WEEKS } from "../limits.ts";

/**
 * Which sources are silent: no POST at all for far longer than these hours of the week usually have. A question to the
 * ledger for rules.ts; count is the number of whole hours without any.
 *
 * The silence begins with the hour after the last one with a POST and ends with the last whole hour. Its last hour is not judged:
 * a clock change moves a morning by one. The judged hours are looked up in each of the four weeks before, at the
 * same hours of the week. It is a silence when at least three of those weeks had 20 POSTs or more in these hours. Sums:
 *
 * - 600 POSTs an hour until 10:20, now 13:05: silent are 11 and 12, judged is 11; each week had 600 there: silent.
 *   At 12:59 only 11 is whole, nothing is judged. So a busy source is found silent between two and three hours after its last POST.
 * - 10 POSTs an hour: one hour had 10, two have 20: found an hour later.
 * - Nothing comes between 20:00 and 06:00, or at weekends: the weeks before had nothing there either, and the sum stays 0.
 *   A morning without mail counts from 06:00 on.
 * - A ledger younger than three weeks has no three weeks to compare with, and one that never sees 20 POSTs in seven days
 *   is too quiet to tell: at most seven days are judged, so that the weeks before lie before the silence.
 *
 * POSTs count, not events: one POST holds a thousand events, and only POSTs come independently of each other. What waits in
 * the inbox or in a spool did come, though no tally has it yet. Test: silence.pg.test.ts.
 */
export const silenceQuestion = {
  text: `WITH quiet AS (
      SELECT s.id, s.name, last.hour + interval '1 hour' AS since,
        least(date_trunc('hour', now()) - interval '1 hour', last.hour + interval '1 hour' + interval '7 days') AS until
      FROM sources AS s CROSS JOIN LATERAL (
        SELECT hour FROM tallies WHERE source = s.id AND receipts > 0 AND hour > now() - make_interval(days => $1) ORDER BY hour DESC LIMIT 1
      ) AS last
      WHERE NOT s.simulated
    )
    SELECT name AS source, (extract(epoch FROM date_trunc('hour', now()) - since) / 3600)::bigint AS count, since
    FROM quiet
    WHERE until > since
      AND (SELECT count(*) FROM generate_series(1, $2) AS week WHERE $3 <= (
          SELECT sum(receipts) FROM tallies
          WHERE source = quiet.id AND hour >= since - make_interval(weeks => week) AND hour < until - make_interval(weeks => week)
        )) >= $4
      AND NOT EXISTS (
          SELECT FROM inbox JOIN receipts AS r ON r.id = inbox.receipt AND r.received_at = inbox.received_at
          WHERE inbox.received_at >= since AND r.source = quiet.id
        )
      AND NOT EXISTS (SELECT FROM instances WHERE spool_posts > 0)`,
  values: [SILENCE_GIVEN_UP_DAYS, SILENCE_WEEKS, SILENCE_RECEIPTS_MIN, SILENCE_BUSY_WEEKS_MIN],
};
