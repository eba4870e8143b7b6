import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import * as limits from "../src/limits.ts";

/**
 * What becomes of every limit at its edge (promise P8): the test that goes there (with a smaller number where the code takes
 * one), or why none does. A new limit must be entered in one of the two lists.
 */

const ROOT = join(import.meta.dirname, "..");

/** By file: some words of the test, and the limits whose edge it is about. */
const AT_THEIR_EDGE: Record<string, [words: string, ...names: string[]][]> = {
  "src/intake/route.pg.test.ts": [
    ["of exactly 5 MiB is taken", "BODY_BYTES_MAX"],
    ["is over a timestamp of the longest kind", "TIMESTAMP_HEADER_CHARS_MAX"],
  ],
  "src/intake/arrivals.test.ts": [["Arriving bodies are admitted up to the limit", "ARRIVING_BYTES_MAX"]],
  "src/intake/append.pg.test.ts": [
    ["refuses what would make the queue larger", "APPEND_QUEUE_BYTES_MAX"],
    ["puts what arrives during a commit into the next group", "APPEND_GROUP_ROWS_MAX", "RECEIPT_ID_BLOCK"],
    ["puts bodies into one group up to its limit", "APPEND_GROUP_BYTES_MAX"],
    ["finds out by one POST a second", "APPEND_PROBE_MS"],
  ],
  "src/intake/spool.test.ts": [
    ["takes as many at once as its limit", "SPOOL_DRAIN_POSTS_MAX"],
    ["the number of the key that made its signature", "SPOOL_UNVERIFIED_MS"],
  ],
  "src/intake/learn-dictionary.test.ts": [
    ["never grows beyond its limit", "DICTIONARY_LEARNT_CHARS_MAX"],
    ["in the mail of too few", "DICTIONARY_RECIPIENTS_MIN"],
  ],
  "src/intake/dictionary.pg.test.ts": [
    ["is not learnt from too little", "DICTIONARY_EVENTS_MIN", "DICTIONARY_EVENT_CHARS_MAX"],
    ["soon after the first thousand receipts", "DICTIONARY_RECEIPTS_NEW"],
  ],
  "src/pace.test.ts": [
    ["when they are the most", "ANSWER_SLOW_MS", "ANSWERS_COUNTED", "GIVE_WAY_SLOW_SHARE"],
    ["once nobody has been answered", "ANSWERS_RECENT_MS"],
    ["as long as it files what arrives", "GIVE_WAY_OVERLOAD", "ARRIVALS_AVERAGED_MS", "BATCHES_COUNTED"],
    ["three times as long as it took", "GIVE_WAY_FACTOR", "GIVE_WAY_MS_MAX"],
    ["too far behind", "GIVE_WAY_LAG_MS_MIN", "GIVE_WAY_LAG_MS_MAX"],
    ["begins batches that take all there is some time apart", "BATCHES_APART_MS"],
    ["lets receipts gather while many POSTs wait", "GATHER_POSTS_MIN", "GATHER_MS"],
  ],
  "src/postgres/pool.pg.test.ts": [["a process that vanished hold its locks", "IDLE_IN_TRANSACTION_MS_MAX"]],
  "src/postgres/transaction.pg.test.ts": [["gives up after the fifth retry", "DEADLOCK_RETRY_MS", "DEADLOCK_JITTER"]],
  "src/postgres/embedded-log.test.ts": [["stays as it is up to its bound", "POSTGRES_LOG_BYTES_MAX"]],
  "src/ledger/projector.pg.test.ts": [["waits longer after each attempt, up to ten minutes", "PROJECT_BACKOFF_MS_MAX"]],
  "src/ledger/prepare.test.ts": [["has a turn after so many bytes", "PROJECT_TURN_BYTES"]],
  "src/ledger/parse-limits.test.ts": [
    ["is filed at the greatest depth", "ITEM_DEPTH_MAX"],
    ["of a type is filed", "EVENT_TYPE_CHARS_MAX"],
    ["beyond it shortened", "EVENT_ID_CHARS_MAX", "MESSAGE_ID_CHARS_MAX", "RECIPIENT_CHARS_MAX"],
    ["of categories is as it came", "CATEGORIES_MAX", "CATEGORY_CHARS_MAX"],
    ["of custom args has them as args", "ARGS_BYTES_MAX", "ARG_KEY_CHARS_MAX"],
  ],
  "src/ledger/detail-parts.pg.test.ts": [
    ["is stored up to its limit of length", "DETAIL_PART_CHARS_MAX"],
    ["is stored up to a number of parts", "DETAIL_PARTS_MAX"],
  ],
  "src/ledger/project-limits.pg.test.ts": [
    ["takes as many receipts as its limit", "PROJECT_RECEIPTS_MAX"],
    ["takes bodies up to its limit of bytes", "PROJECT_BYTES_MAX"],
    ["remembers the names of custom args up to its limit", "ARG_KEYS_MAX"],
    ["names events up to its limit", "NOTIFY_EVENTS_MAX"],
    ["stays within what PostgreSQL takes", "NOTIFY_BYTES_MAX"],
  ],
  "src/ledger/read.pg.test.ts": [["is refused when too many wait", "READS_CONCURRENT_MAX", "READS_WAITING_MAX"]],
  "src/sendgrid/responses.test.ts": [
    ["calls a list full when it holds as many rows as it can", "API_ROWS_MAX"],
    ["API_WAIT_SECONDS_MAX", "API_WAIT_SECONDS_MAX", "API_WAIT_SECONDS_DEFAULT"],
  ],
  "src/sendgrid/api-client.test.ts": [["stops reading an answer that is too large", "API_RESPONSE_BYTES_MAX"]],
  "src/sendgrid/budget.pg.test.ts": [
    ["for longer and longer, up to a limit", "API_OUTAGE_SECONDS", "API_OUTAGE_SECONDS_MAX"],
    ["until a day has passed", "API_FORBIDDEN_SECONDS"],
  ],
  "src/enrichment/narrow.test.ts": [["API_QUERY_CHARS_MAX", "API_QUERY_CHARS_MAX"]],
  "src/enrichment/enricher.pg.test.ts": [
    ["gives up on a message after three retries, 30 seconds apart", "ENRICH_RETRIES_MAX", "ENRICH_RETRY_SECONDS"],
    ["lets a trickle of messages share calls", "ENRICH_GATHER_SECONDS"],
  ],
  "src/enrichment/failures.pg.test.ts": [["what a process that died had asked", "ENRICH_LEASE_SECONDS"]],
  "src/enrichment/orders.pg.test.ts": [
    ["is answered by windows, not one by one", "ENRICH_ORDERS_SINGLY_MAX"],
    ["gives way after some calls without an answer", "ENRICH_ORDER_TRIES_MAX"],
  ],
  "src/views/routes.pg.test.ts": [
    ["limit=201", "PAGE_ROWS_MAX"],
    ['"x".repeat(501)', "QUERY_CHARS_MAX"],
    ["at most 10 arg. parameters", "ARG_FILTERS_MAX"],
    ['"é".repeat(2000)', "EXCERPT_CHARS_MAX"],
  ],
  "src/views/message.pg.test.ts": [["leaves out opens and clicks first", "TIMELINE_EVENTS_MAX"]],
  "src/views/messages.pg.test.ts": [["SEARCH_HITS_MAX + 100", "SEARCH_HITS_MAX"]],
  "src/views/export.pg.test.ts": [
    ["ends at its limit, and says so", "EXPORT_ROWS_MAX"],
    ["over many pages", "EXPORT_PAGE_ROWS"],
  ],
  "src/views/session.pg.test.ts": [
    ["is limited per address", "LOGIN_ATTEMPTS_PER_MINUTE"],
    ['"x".repeat(501)', "TOKEN_CHARS_MAX"],
    ["for the days that were chosen", "TOKEN_DAYS"],
  ],
  "src/views/oidc.pg.test.ts": [["nowMs += OIDC_RETRY_MS", "OIDC_RETRY_MS"]],
  "src/views/oidc-provider.test.ts": [
    ["nowMs += OIDC_METADATA_MS", "OIDC_METADATA_MS"],
    ["OIDC_ANSWER_BYTES_MAX + 1", "OIDC_ANSWER_BYTES_MAX"],
  ],
  "src/views/oidc-flow.test.ts": [
    ["OIDC_FLOW_SECONDS * 1000", "OIDC_FLOW_SECONDS"],
    ["OIDC_FLOWS_REMEMBERED_MAX", "OIDC_FLOWS_REMEMBERED_MAX"],
    ["OIDC_NEXT_CHARS_MAX", "OIDC_NEXT_CHARS_MAX"],
    ["OIDC_NAME_CHARS_MAX", "OIDC_NAME_CHARS_MAX"],
  ],
  "src/views/sends.pg.test.ts": [
    [
      "takes up to its limits",
      "SENDS_PER_REQUEST_MAX",
      "SENDS_BODY_BYTES_MAX",
      "SEND_RECIPIENTS_MAX",
      "SEND_ID_CHARS_MAX",
    ],
    ["SEND_ARGS_BYTES_MAX + 1", "SEND_ARGS_BYTES_MAX"],
  ],
  "src/commands/sends.pg.test.ts": [["the rest was not read", "SEND_LINE_CHARS_MAX"]],
  "src/reconcile/register.pg.test.ts": [
    ["an hour after a send without an event, not earlier", "REGISTER_WAIT_SECONDS"],
    ["ever more seldom", "REGISTER_AGAIN_SECONDS"],
    ["more sends than one statement takes", "REGISTER_SENDS_MAX"],
  ],
  "src/views/live-limit.pg.test.ts": [["Takes as many live pages as its limit", "SSE_CLIENTS_MAX"]],
  "src/views/sse.test.ts": [["is cut off when it does not read", "SSE_CLIENT_BYTES_MAX"]],
  "src/views/live-ring.test.ts": [["does not know what is too old", "SSE_BUFFER_EVENTS_MAX"]],
  "src/audit/verify.pg.test.ts": [["AUDIT_PAGE_BYTES_MAX", "AUDIT_PAGE_BYTES_MAX", "AUDIT_PAGE_RECEIPTS_MAX"]],
  "src/audit/compare.pg.test.ts": [
    ["with two pages in memory", "COMPARE_PAGE_ROWS"],
    ["and no further", "COMPARE_MARGIN_SECONDS"],
  ],
  "src/commands/compare.pg.test.ts": [["10001", "COMPARE_LISTED_MAX"]],
  "src/audit/difference.test.ts": [["AUDIT_DIFFERENCES_MAX", "AUDIT_DIFFERENCES_MAX"]],
  "src/health/heartbeat.pg.test.ts": [["interval '31 seconds'", "INSTANCE_GONE_SECONDS"]],
  "src/alerts/alerts.pg.test.ts": [
    ["interval '61 seconds'", "ALERT_INBOX_AGE_SECONDS"],
    ["interval '16 minutes'", "ALERT_REFUSED_SECONDS"],
    ["interval '59 minutes'", "ALERT_GAP_SECONDS"],
    ["interval '8 days'", "ALERT_REPAIRED_DAYS"],
    ["71 hours", "ALERT_RECONCILIATION_DAYS"],
  ],
  "src/alerts/silence.pg.test.ts": [
    ["and not one POST earlier", "SILENCE_RECEIPTS_MIN"],
    ["is hidden by no single week", "SILENCE_WEEKS", "SILENCE_BUSY_WEEKS_MIN"],
    ["ends when the source was given up", "SILENCE_GIVEN_UP_DAYS"],
  ],
  "src/simulator/sender.test.ts": [["1 + SIMULATED_RETRIES_MAX", "SIMULATED_RETRIES_MAX"]],
};

/** Limits whose edge no test visits, by the reason. */
const NOT_AT_THEIR_EDGE: Record<string, string> = {
  "How often something is looked at or sent. Tests call the tick; a little earlier or later changes nothing.": `
    SPOOL_IDLE_MS KEY_RING_MS KEY_USE_FLUSH_MS PROJECT_IDLE_MS PROJECT_FAILING_MS_MAX ENRICH_IDLE_MS
    POSTGRES_LOG_CHECK_MS POSTGRES_RESTART_MS_MAX SSE_FLUSH_MS SSE_HEARTBEAT_MS SSE_RECONNECT_MS SSE_TICK_MS
    SSE_FIGURES_SHARE_MAX AUDIT_STATE_MS RECONCILE_POLL_MS RECONCILE_IDLE_MS HEARTBEAT_MS
    DURABILITY_CHECK_MS REFUSALS_FLUSH_MS ALERT_CHECK_MS AWAY_RETRY_MS AWAY_LOG_MS PAGE_SIMULATION_SAMPLE_MS
    READ_CANCEL_AGAIN_MS DICTIONARY_LOOK_MS DICTIONARY_DAYS_MAX
  `,
  "The end of a wait that a test would have to sit out. That such a wait ends is tested, with a shorter one or by the faults.": `
    APPEND_MS_MAX HTTP_KEEP_ALIVE_MS HTTP_REQUEST_MS_MAX STATEMENT_MS_MAX ANSWER_MARGIN_MS MIGRATION_MS_MAX
    CONNECT_MS_MAX POSTGRES_START_MS_MAX POSTGRES_INITDB_MS_MAX POSTGRES_STOP_MS_MAX POSTGRES_QUIT_MS_MAX
    API_REQUEST_MS_MAX READ_STATEMENT_MS_MAX SSE_STOP_MS_MAX AUDIT_STATEMENT_MS_MAX RECONCILE_INBOX_SECONDS_MAX
    RECONCILE_REPAIRS_SECONDS_MAX RECONCILE_STATEMENT_MS_MAX ALERT_DELIVERY_MS_MAX ALERT_DELIVERY_TRIES_MAX
    STOP_MS_MAX STOP_ORDERLY_MS_MAX SOCKETS_CLOSE_MS_MAX SIMULATED_REQUEST_MS_MAX SIMULATED_RETRY_MS_MAX
    SIMULATED_STILL_MS_MAX PAGE_SIMULATION_LOCK_MS_MAX LOGIN_LINK_MINUTES SESSION_HOURS ENDED_TOKEN_DAYS
    OIDC_REQUEST_MS_MAX RECONCILE_RESUME_SECONDS COMPARE_STATEMENT_MS_MAX
  `,
  "The size of a step: what does not fit is the next step's.": `
    KEY_ORDERS_MAX ENRICH_WINDOW_MESSAGES_MAX ENRICH_CANDIDATES_MAX ENRICH_SECOND_MESSAGES_MAX
    ENRICH_ORDERS_IN_A_ROW_MAX AUDIT_SURPLUS_ROWS_MAX AUDIT_EVENTS_FETCHED_MAX AUDIT_MESSAGES_MAX
    RECONCILE_WINDOW_MESSAGES_MAX RECONCILE_PAGE_ROWS RECONCILE_CSV_ROWS REPAIR_ORDERS_MAX PURGE_NUMBERS_MAX
    SIMULATED_COMPARE_MESSAGES_MAX SUPPRESSION_ROWS_MAX
  `,
  "How much a dictionary is learnt from. With more or less it knows a little more or less.": `
    DICTIONARY_EVENTS_MAX DICTIONARY_RECEIPT_EVENTS_MAX DICTIONARY_BODY_BYTES_MAX DICTIONARY_RECEIPTS_MAX
    DICTIONARY_RECEIPTS_LOOKED_AT
  `,
  "What is spent on asking SendGrid. What it does not reach is asked later, or said to be unknown.": `
    ENRICH_QUIET_SECONDS ENRICH_ASKS_MAX ENRICH_FRESH_SECONDS ENRICH_CALLS_RESERVED ENRICH_REOPEN_SECONDS
    RECONCILE_DAY_CALLS_MAX RECONCILE_GUESS_CALLS_MAX RECONCILE_GROUP_CALLS_MAX RECONCILE_TRIES_MAX RECONCILE_LIMITED_MAX
    RECONCILE_SUPPRESSION_PAGES_MAX RECONCILE_MESSAGE_EVENTS_MAX RECORDS_CALLS_PER_MINUTE
  `,
  "What is shown or looked through for a page. The ledger keeps the rest.": `
    RATE_STEPS PROBABLE_LINK_DAYS LAST_RECEIPTS_SCANNED_MAX ALERT_ROWS_MAX RECIPIENT_MESSAGES_MAX
    RECIPIENT_REASONS_SCANNED_MAX SSE_LATEST_EVENTS_MAX SSE_LATEST_MESSAGES_SCANNED_MAX SSE_MESSAGE_EVENTS_MAX
    SSE_DETAIL_BYTES_MAX DETAIL_BYTES_MAX API_TEXT_CHARS_MAX API_REASON_CHARS_MAX COMPLETENESS_ACCOUNTS_MAX
    RECONCILIATION_CHANGES_MAX PAGE_SIMULATION_SAMPLES_MAX
  `,
  "Memory of what can be found again, or room for it.": `
    ACCESS_LOG_REPEAT_MS ACCESS_LOG_REMEMBERED_MAX SUBUSERS_MAX RECONCILE_ASKED_KEPT_MAX POOL_CONNECTIONS_MAX
    SOCKET_PATH_BYTES_MAX
  `,
  "A refusal that a person reads and can act upon. No event of a mail is concerned.": `
    SOURCE_KEYS_MAX PAGE_SOURCES_MAX EXPORTS_CONCURRENT_MAX COMPLETENESS_DAYS_MAX COMPLETENESS_RESULTS_MAX
    CERTIFICATE_RESULTS_MAX RECONCILIATION_ORDERS_MAX RECONCILE_RANGE_DAYS_MAX
    VIEW_BODY_BYTES_MAX SIMULATED_EVENTS_MAX SIMULATED_BATCH_MAX SIMULATED_CONCURRENCY_MAX
    PAGE_SIMULATION_EVENTS_MAX PAGE_SIMULATION_RATE_MAX PAGE_SIMULATION_DEADLOCKS_MAX
    PAGE_SIMULATION_SEED_CHARS_MAX
  `,
  "A form that nothing real comes near, in answers of SendGrid's API and its files; property tests feed them anything.":
    "RECORD_TEXT_CHARS_MAX RECORD_KEY_CHARS_MAX RECORD_ENTRIES_MAX RECORD_NESTING_MAX CSV_ROW_BYTES_MAX",
  "No key makes a valid signature of that length, so there is nothing at the edge that could be refused.":
    "SIGNATURE_HEADER_CHARS_MAX",
  "A default, or a fact about SendGrid that times are counted from.": `
    RETRY_AFTER_SECONDS ENRICH_SETTLE_SECONDS API_CALLS_PER_MINUTE PAGE_ROWS_DEFAULT SENDGRID_PATIENCE_SECONDS
    RECONCILE_SETTLE_SECONDS RECONCILE_FINAL_SECONDS RECONCILE_DAYS RECONCILE_EARLIER_DAYS
    RECONCILE_SUPPRESSION_SECONDS RECONCILE_NIGHT_HOUR COMPARE_LISTED_DEFAULT
  `,
};

const tested = Object.values(AT_THEIR_EDGE).flatMap((entries) => entries.flatMap(([, ...names]) => names));
const untested = Object.values(NOT_AT_THEIR_EDGE).flatMap((names) => names.trim().split(/\s+/));

describe("the limits", () => {
  test("are each tested at their edge, or it is said why not", () => {
    const listed = [...tested, ...untested];
    expect(
      Object.keys(limits).filter((name) => !listed.includes(name)),
      "enter them in one of the lists above",
    ).toEqual([]);
    expect(
      listed.filter((name) => !(name in limits)),
      "no such limit",
    ).toEqual([]);
    expect(
      listed.filter((name, index) => listed.indexOf(name) !== index),
      "listed twice",
    ).toEqual([]);
  });

  test.each(Object.entries(AT_THEIR_EDGE))("have their tests in %s", async (file, entries) => {
    const text = await readFile(join(ROOT, file), "utf8");
    expect(entries.map(([words]) => words).filter((words) => !text.includes(words))).toEqual([]);
  });
});
