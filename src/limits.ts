/**
 * Every bound in Holdfast, with its unit in its name and the reason for its number (promise P8).
 * Nothing that can grow (queue, batch, body, wait, retry) is bounded anywhere else.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

// Intake

/** SendGrid posts at most 768 KB; six times that leaves room for a changed limit without inviting abuse. */
export const BODY_BYTES_MAX = 5 * MIB;
/** Bodies on their way in, by what their headers announce (BODY_BYTES_MAX where nothing is announced). 128 MiB is 25 of the largest. */
export const ARRIVING_BYTES_MAX = 128 * MIB;
/** Bodies waiting for their commit. 64 MiB is 85 full-sized POSTs; beyond it a 503 is kinder than swapping. */
export const APPEND_QUEUE_BYTES_MAX = 64 * MIB;
/** Rows in one group commit: more than the connections of a busy webhook, and their answers go out together. */
export const APPEND_GROUP_ROWS_MAX = 64;
/** Bytes in one group commit: bounds the memory of one statement, whatever the queue holds. */
export const APPEND_GROUP_BYTES_MAX = 8 * MIB;
/** Numbers taken from the sequence at once; must equal INCREMENT BY of receipt_ids. */
export const RECEIPT_ID_BLOCK = 1000;
/** An append that takes longer counts as an outage: SendGrid's patience is not published, others measured 10 s. */
export const APPEND_MS_MAX = 8_000;
/** After a failed append the next POSTs go straight to the spool, and one is tried again after this. */
export const APPEND_PROBE_MS = 1_000;
/** POSTs read from the spool and appended together when PostgreSQL is back. */
export const SPOOL_DRAIN_POSTS_MAX = 32;
/** Of what a ledger's receipts have in common, as much goes into a dictionary. Simulated mail has 2,400 to 2,900 characters of it. */
export const DICTIONARY_LEARNT_CHARS_MAX = 4_096;
/** What is in a dictionary comes in the mail of so many recipients at least. */
export const DICTIONARY_RECIPIENTS_MIN = 5;
/** A dictionary is learnt from so many events: with fewer it knows too little, with more it takes longer and knows no more. */
export const DICTIONARY_EVENTS_MIN = 200;
export const DICTIONARY_EVENTS_MAX = 300;
/** Longer events are not learnt from: each eight characters of an event are remembered, at some 80 bytes; so 36 MB at most. */
export const DICTIONARY_EVENT_CHARS_MAX = 1_500;
/** Of each receipt, so that they come from many. */
export const DICTIONARY_RECEIPT_EVENTS_MAX = 10;
/** Bodies of more gain too little. Together: 300 of them unpacked one by one, 3 MB packed. */
export const DICTIONARY_BODY_BYTES_MAX = 64 * 1024;
export const DICTIONARY_RECEIPTS_MAX = 300;
/** Among so many of the latest they are looked for. */
export const DICTIONARY_RECEIPTS_LOOKED_AT = 2_000;
/** The first dictionary is learnt after so many POSTs. */
export const DICTIONARY_RECEIPTS_NEW = 1_000;
/** The longest that a dictionary is used. */
export const DICTIONARY_DAYS_MAX = 30;
/** How often it is looked whether another process has learnt one, or whether it is time. */
export const DICTIONARY_LOOK_MS = 3_600_000;
/** A spooled POST whose key is not known any more is looked at again after this: an admin may add the key. */
export const SPOOL_UNVERIFIED_MS = 60_000;
/** How often the spool is looked at. */
export const SPOOL_IDLE_MS = 1_000;
/** How often intake looks for keys that an admin added or ended on the page. */
export const KEY_RING_MS = 1_000;
/** Such orders carried out together. */
export const KEY_ORDERS_MAX = 100;
/** How often the last use of each key is written down. */
export const KEY_USE_FLUSH_MS = 30_000;
/** Keys of one source that are valid at once; each costs a POST up to a tenth of a millisecond. */
export const SOURCE_KEYS_MAX = 20;
/** Sources made on the page. */
export const PAGE_SOURCES_MAX = 100;
/** What a refused client is asked to wait. SendGrid ignores it; proxies and our simulator do not. */
export const RETRY_AFTER_SECONDS = 5;
/** A signature header is about 96 characters of base64; anything longer is not one. */
export const SIGNATURE_HEADER_CHARS_MAX = 512;
/** Unix seconds have 10 digits; room for a changed form, none for a flood. */
export const TIMESTAMP_HEADER_CHARS_MAX = 64;
/** SendGrid opens a connection per sending server and posts every 30 s: keep them open a little longer than that. */
export const HTTP_KEEP_ALIVE_MS = 40_000;
/** A whole request must have arrived by then: 5 MiB over a slow line, and no slow-loris. */
export const HTTP_REQUEST_MS_MAX = 30_000;

/** A POST that waited longer for its answer was answered slowly: with room to spare it takes 2 to 5 ms. */
export const ANSWER_SLOW_MS = 10;
/** How many answers their share reaches back, about. */
export const ANSWERS_COUNTED = 64;
/** With more slow answers among them than this, and with more arriving than it files by this factor, the projector gives way. */
export const GIVE_WAY_SLOW_SHARE = 0.5;
export const GIVE_WAY_OVERLOAD = 1.2;
/** How far the averages of what arrives and of what waits reach back, about; and how many batches that of what is filed. */
export const ARRIVALS_AVERAGED_MS = 1_000;
export const BATCHES_COUNTED = 16;
/** Without an answer for so long, nobody is waiting. */
export const ANSWERS_RECENT_MS = 100;
/** Giving way, the projector rests this many times as long as it works, */
export const GIVE_WAY_FACTOR = 3;
/** this long at once at most, */
export const GIVE_WAY_MS_MAX = 500;
/** not before it is this far behind, since small batches say nothing of how fast it could be, nor do the first ones of a process, */
export const GIVE_WAY_LAG_MS_MIN = 2_000;
/** and not beyond this: half of what raises an alert. */
export const GIVE_WAY_LAG_MS_MAX = 30_000;
/** While more POSTs than this wait for their answers on average (in a campaign of 500 POSTs a second it is about 4), */
export const GATHER_POSTS_MIN = 16;
/** the projector lets receipts gather for this long before each batch, and an event shows about so much later. */
export const GATHER_MS = 100;
/**
 * Batches that take all there is begin at least so far apart. At 150 POSTs a second of 1 to 3 events each had a batch of its own: service
 * and PostgreSQL took 0.97 of a core, now 0.80, and an event shows after 22 ms instead of 17. With 20 ms it would be 0.72 and 27. In a
 * campaign of 500 POSTs a second most batches take longer than this by themselves.
 */
export const BATCHES_APART_MS = 12;

// PostgreSQL

/** A statement that runs longer than this is a bug or a stuck server; every caller can retry. */
export const STATEMENT_MS_MAX = 30_000;
/** Between two statements of a transaction we only compute: parsing 2 MiB takes a tenth of a second. */
export const IDLE_IN_TRANSACTION_MS_MAX = 10_000;
/** A client waits this much longer than the server's own limit, and then takes the connection for dead (half open). */
export const ANSWER_MARGIN_MS = 5_000;
/** A migration of a large table may rewrite it. */
export const MIGRATION_MS_MAX = 24 * 60 * 60_000;
/** Waiting for a new connection. Longer than a failover's TCP time-out would make every request hang. */
export const CONNECT_MS_MAX = 5_000;
/** Connections per process: 1 append, 1 project, 1 enrich, 1 alerts, 1 listen, and 7 for reads and whatever is rare. */
export const POOL_CONNECTIONS_MAX = 12;
/** The waits before a deadlocked transaction is tried again. Each is spread by DEADLOCK_JITTER. */
export const DEADLOCK_RETRY_MS: readonly number[] = [500, 1000, 1500, 2000, 2500];
/** Each wait is multiplied by a number between 1 - this and 1 + this, so that two victims do not meet again. */
export const DEADLOCK_JITTER = 0.2;

// The embedded PostgreSQL

/** After a crash up to max_wal_size (2 GB) is replayed before the server is ready; a slow disk takes minutes for that. */
export const POSTGRES_START_MS_MAX = 10 * 60_000;
/** A first `initdb` takes 1 to 3 s; on a slow disk its fsync takes longer. */
export const POSTGRES_INITDB_MS_MAX = 2 * 60_000;
/** A fast stop writes a checkpoint, a second or two. Then it is cut short: together with the next it fits in STOP_MS_MAX. */
export const POSTGRES_STOP_MS_MAX = 5_000;
/** An immediate stop (recovery at the next start, nothing committed is lost) that takes longer is a hanging process: SIGKILL. */
export const POSTGRES_QUIT_MS_MAX = 1_500;
/** A server that dies is started again after 0.2 s, 0.4 s, 0.8 s … up to this, for as long as the service runs. */
export const POSTGRES_RESTART_MS_MAX = 30_000;
/** The server's log is kept once more as `postgres.log.1` when it is this long: two files at most. */
export const POSTGRES_LOG_BYTES_MAX = 10 * MIB;
export const POSTGRES_LOG_CHECK_MS = 60_000;
/** sun_path has 108 bytes on Linux and 104 on macOS, one of them for the closing NUL. */
export const SOCKET_PATH_BYTES_MAX = 103;

// Projector

/**
 * Receipts claimed in one transaction: about what its bytes hold where each has one event. A backlog of such was filed 1.37 times
 * as fast as with 256.
 */
export const PROJECT_RECEIPTS_MAX = 2_048;
/** Bytes of bodies in one transaction; a single larger receipt (up to BODY_BYTES_MAX) is taken alone. Some 1,800 events. */
export const PROJECT_BYTES_MAX = 1 * MIB;
/** Bytes of bodies read at once, about 3 ms; then whoever else has something to do in this process has a turn. */
export const PROJECT_TURN_BYTES = 64 * KIB;
/** A receipt that fails is tried again after 1 s, 2 s, 4 s … up to this. */
export const PROJECT_BACKOFF_MS_MAX = 10 * 60_000;
/** A failing projector tries again at least this often: after an outage of seconds, mails should show within seconds. */
export const PROJECT_FAILING_MS_MAX = 5_000;
/** How often the inbox and the ledger's orders are looked at when nothing announced itself: what another process took in shows by then. */
export const PROJECT_IDLE_MS = 1_000;
/** Deeper items are quarantined: PostgreSQL's own JSON parser is recursive, and no real event goes past 4. */
export const ITEM_DEPTH_MAX = 100;
/** Documented as 100 characters; longer ids are replaced by their hash, since an index entry has a limit of 2,704 bytes. */
export const EVENT_ID_CHARS_MAX = 200;
/** Real ones have about 80 characters. */
export const MESSAGE_ID_CHARS_MAX = 400;
/** An address has 254 at most; SendGrid also sends free text. The full text stays in the event's detail. */
export const RECIPIENT_CHARS_MAX = 320;
/** Real ones have at most 21. */
export const EVENT_TYPE_CHARS_MAX = 64;
/** SendGrid allows 10 categories of 255 characters; the rest stays in the event's detail. */
export const CATEGORIES_MAX = 32;
export const CATEGORY_CHARS_MAX = 255;
/** SendGrid limits all custom args of a mail to 10,000 bytes; what is over stays in the event's detail. */
export const ARGS_BYTES_MAX = 20_000;
/** Names of custom args remembered for search without a key; an application has a handful, a hostile body millions. */
export const ARG_KEYS_MAX = 200;
export const ARG_KEY_CHARS_MAX = 255;
/** What many events say alike is kept once, up to so many (some 6 MB, and as much in the projector): a year of mail knows some thousand programs. */
export const DETAIL_PARTS_MAX = 20_000;
/** Longer ones stay in their event. The longest names of programs have some 300 characters. */
export const DETAIL_PART_CHARS_MAX = 1_000;
/** Events announced to the live page per transaction: a notification holds 8,000 bytes. */
export const NOTIFY_EVENTS_MAX = 25;
/** PostgreSQL refuses a notification of 8,000 bytes. */
export const NOTIFY_BYTES_MAX = 7_900;

// Enrichment

/** SendGrid shows a message in its own API about a minute after sending; asking earlier wastes a call. The default of a setting. */
export const ENRICH_SETTLE_SECONDS = 90;
/** Published for the Messages API; for Email Logs there is no figure, so the same. The default of a setting. */
export const API_CALLS_PER_MINUTE = 6;
/** Rows a list call returns at most; there are no pages. */
export const API_ROWS_MAX = 1_000;
/** A full window (API_ROWS_MAX rows) from SendGrid takes seconds; a hanging one must not hold the budget. */
export const API_REQUEST_MS_MAX = 30_000;
/** 1,000 rows are about 400 KB. */
export const API_RESPONSE_BYTES_MAX = 16 * MIB;
/** Retries after the first ask, and the wait before each. */
export const ENRICH_RETRIES_MAX = 3;
export const ENRICH_RETRY_SECONDS = 30;
/** How often the waiting messages are looked at. */
export const ENRICH_IDLE_MS = 1_000;
/** Messages planned for one list call: a tenth of API_ROWS_MAX is left for mail that this ledger does not wait for. */
export const ENRICH_WINDOW_MESSAGES_MAX = 900;
/** Messages looked through to plan one window. Further ones wait for their turn: it is the oldest that are looked through. */
export const ENRICH_CANDIDATES_MAX = 20_000;
/** Messages taken from one second that holds more than a window's; the rest of that second comes after. */
export const ENRICH_SECOND_MESSAGES_MAX = 5_000;
/** Due messages wait that long for others to share their call, unless none are coming: two calls a minute at a trickle. */
export const ENRICH_GATHER_SECONDS = 30;
/** Nothing having come due for that long means that none are coming. */
export const ENRICH_QUIET_SECONDS = 2;
/** A taken message comes back by itself after that: a call (30 s) and its writing, with room. */
export const ENRICH_LEASE_SECONDS = 120;
/** Calls spent on one window and its parts. 64 parts of 1,000 rows is a lot of foreign mail for 900 of ours. */
export const ENRICH_ASKS_MAX = 64;
/** Orders answered one call each; when more wait, they join the windows instead, which answer 900 a call. */
export const ENRICH_ORDERS_SINGLY_MAX = 10;
/** After that many orders in a row a window has its turn: people clicking must not stop the rest. */
export const ENRICH_ORDERS_IN_A_ROW_MAX = 5;
/** Calls for one order that bring no answer. */
export const ENRICH_ORDER_TRIES_MAX = 3;
/** A message asked about less than that ago is not asked about again because somebody opens it. */
export const ENRICH_FRESH_SECONDS = 600;
/** Windows leave that many calls of a minute to people. */
export const ENRICH_CALLS_RESERVED = 1;
/** A wait that the API asks for is believed up to an hour. */
export const API_WAIT_SECONDS_MAX = 3_600;
/** The wait after a 429 that names none: the limits are per minute. */
export const API_WAIT_SECONDS_DEFAULT = 60;
/** After a call without a usable answer the API is left alone for that long, then twice that … up to the maximum. */
export const API_OUTAGE_SECONDS = 30;
export const API_OUTAGE_SECONDS_MAX = 600;
/** An API that answered 403 is asked again after that, so that buying the add-on heals by itself. */
export const API_FORBIDDEN_SECONDS = 86_400;
/** A query in an address: with its escapes below the 8 KB that servers commonly take. */
export const API_QUERY_CHARS_MAX = 3_000;
/** A subject has no limit at SendGrid; a screen has. */
export const API_TEXT_CHARS_MAX = 2_000;
/** What is kept of an API's error text. */
export const API_REASON_CHARS_MAX = 200;

// SendGrid's records

/** Rows of a page of a suppression list: SendGrid's own maximum. */
export const SUPPRESSION_ROWS_MAX = 500;
/** A URL or a server's answer in a recorded event; SendGrid cuts its own reasons at 1,024. */
export const RECORD_TEXT_CHARS_MAX = 10_000;
export const RECORD_KEY_CHARS_MAX = 255;
/** Keys of a recorded event, and members of a list in it: a real one has about 30 and 10. */
export const RECORD_ENTRIES_MAX = 300;
/** No real event nests deeper than 2. */
export const RECORD_NESTING_MAX = 4;
/** A row of the CSV export has a few thousand characters; one longer is no such row, and must not fill the memory. */
export const CSV_ROW_BYTES_MAX = MIB;
/** Subusers whose numbers are remembered, so that each is looked up once; large accounts have some thousands. */
export const SUBUSERS_MAX = 10_000;

/** What is kept of the events' course: a bucket's size, for how long it is kept, and for how long a person sees it. */
export const RATE_STEPS = [
  { seconds: 10, shownSeconds: 15 * 60, keptSeconds: 60 * 60 },
  { seconds: 300, shownSeconds: 24 * 3_600, keptSeconds: 2 * 86_400 },
  { seconds: 7_200, shownSeconds: 30 * 86_400, keptSeconds: 31 * 86_400 },
] as const;

// Views

export const PAGE_ROWS_DEFAULT = 50;
export const PAGE_ROWS_MAX = 200;
/** A search that takes longer is cancelled with a clear answer: the page stays usable. */
export const READ_STATEMENT_MS_MAX = 10_000;
/** A message's timeline; one with more (a mailing list's archive, a scanner) says how many were left out. */
export const TIMELINE_EVENTS_MAX = 1_000;
/** While an abandoned search has not ended it is cancelled again after this: the first cancel may have come too early. */
export const READ_CANCEL_AGAIN_MS = 100;
/** Reads of the views under way at once, so that slow searches never take the connections of intake and projector. */
export const READS_CONCURRENT_MAX = 6;
/** Reads waiting for their turn: a page makes about four at once, so this is 50 people pressing reload together. */
export const READS_WAITING_MAX = 200;
/** Matches collected by an index before a search walks through the messages instead: 5,000 rows are read in 20 ms. */
export const SEARCH_HITS_MAX = 5_000;
/** Conditions on custom args in one search. */
export const ARG_FILTERS_MAX = 10;
/** How long after a message's first event an event without a message id may still be about it: delayed bounces take days. */
export const PROBABLE_LINK_DAYS = 7;
/** Opening a message whose enrichment failed asks again, but a page that reloads itself must not spend the calls of a minute. */
export const ENRICH_REOPEN_SECONDS = 600;
/** The newest receipts looked at for each source's last one; there is no index by source, since intake would pay for it. */
export const LAST_RECEIPTS_SCANNED_MAX = 1_000;
/** What a person sees of a quarantined item. */
export const EXCERPT_CHARS_MAX = 2_000;
export const ALERT_ROWS_MAX = 200;
/** Messages of one recipient that are summed up: a person has hundreds, a monitoring address has millions. */
export const RECIPIENT_MESSAGES_MAX = 1_000;
/** Events looked at for why an address is suppressed. */
export const RECIPIENT_REASONS_SCANNED_MAX = 500;
/** Messages in one export: about 40 MB, and what a spreadsheet still opens. */
export const EXPORT_ROWS_MAX = 100_000;
/** Messages read at once for an export; between two of these nothing is held open in the database. */
export const EXPORT_PAGE_ROWS = 1_000;
/** Exports under way at once, so that they leave the reads to people. */
export const EXPORTS_CONCURRENT_MAX = 2;
/** Days in one file of figures or one certificate: a year, leap years too. */
export const COMPLETENESS_DAYS_MAX = 366;
/** Accounts shown beside each other: a calendar of a year with all of them is 4 MB. Others are asked for by name. */
export const COMPLETENESS_ACCOUNTS_MAX = 100;
/** Results (of a day and account) in one file of figures: ten years of one account, or 27 accounts for half a year. */
export const COMPLETENESS_RESULTS_MAX = 5_000;
/** Results in one certificate: 30 pages, which are drawn in a third of a second. */
export const CERTIFICATE_RESULTS_MAX = 1_000;
/** A day is checked four times until it is final; one with more changes than this was checked by hand. */
export const RECONCILIATION_CHANGES_MAX = 50;
/** Orders waiting at once; each takes minutes of SendGrid's budget. */
export const RECONCILIATION_ORDERS_MAX = 20;
/** How long SendGrid goes on sending an event that is refused, counted from the event. */
export const SENDGRID_PATIENCE_SECONDS = 24 * 3_600;
/** The same person looking at the same thing again within this time is one row of the access log. */
export const ACCESS_LOG_REPEAT_MS = 60_000;
/** Such rows remembered per process. */
export const ACCESS_LOG_REMEMBERED_MAX = 1_000;
/** Sessions and links that ended longer ago are deleted; the access log keeps their names. */
export const ENDED_TOKEN_DAYS = 30;
/** Sends registered by one request, with what they may say of themselves: inserted in one statement. */
export const SENDS_PER_REQUEST_MAX = 1_000;
export const SENDS_BODY_BYTES_MAX = 2 * MIB;
/** SendGrid takes no more recipients in one request. */
export const SEND_RECIPIENTS_MAX = 1_000;
/** An X-Message-Id has 22 characters. */
export const SEND_ID_CHARS_MAX = 100;
/** What an application says of a send beside that, as JSON: an order's number, not a document. */
export const SEND_ARGS_BYTES_MAX = 1_000;
/** A log's line is read to here; an id behind it is not found, and that is said. */
export const SEND_LINE_CHARS_MAX = 64 * KIB;
/** Bodies of the views' own POSTs hold a token at most. */
export const VIEW_BODY_BYTES_MAX = 16 * KIB;
/** Events are sent in groups no closer together than this: a group costs one query, whatever the number of pages. */
export const SSE_FLUSH_MS = 200;
/** Events a page gets when it opens. */
export const SSE_LATEST_EVENTS_MAX = 50;
/** The newest messages looked at for those, when nothing was filed since the start of the process. */
export const SSE_LATEST_MESSAGES_SCANNED_MAX = 5_000;
/** Events in one message of the stream; what is over is counted as skipped. */
export const SSE_MESSAGE_EVENTS_MAX = 200;
/** A larger detail is left out of the stream, so that SSE_MESSAGE_EVENTS_MAX of them stay below SSE_CLIENT_BYTES_MAX. */
export const SSE_DETAIL_BYTES_MAX = 2 * KIB;
/** Figures are computed for at most this share of the time: with a huge inbox they come less often. */
export const SSE_FIGURES_SHARE_MAX = 0.1;
/** At the end of the process, the time a reader has to take what is under way. */
export const SSE_STOP_MS_MAX = 1_000;
/** Without anything else to say a comment is sent, so that no proxy takes the connection for dead. */
export const SSE_HEARTBEAT_MS = 15_000;
/** What a browser is asked to wait before it connects again. */
export const SSE_RECONNECT_MS = 2_000;
/** A larger detail of one event is not shown in its timeline (a body can hold 5 MiB of it); it stays in the ledger. */
export const DETAIL_BYTES_MAX = 64 * KIB;
/** Live pages open at once. */
export const SSE_CLIENTS_MAX = 200;
/** Events kept for a page that reconnects: at 500 a second, the 4 s a reconnect takes. */
export const SSE_BUFFER_EVENTS_MAX = 2_000;
/** A reader that does not read is cut off at this much, and reconnects by itself. */
export const SSE_CLIENT_BYTES_MAX = 1 * MIB;
/** How often counters are sent. */
export const SSE_TICK_MS = 1_000;
/** Requests per minute and address to sign-in: enough for a person, useless for guessing. */
export const LOGIN_ATTEMPTS_PER_MINUTE = 20;
export const LOGIN_LINK_MINUTES = 60;
/** The ends that a token can be given: a month, a quarter, a year. Without one it is valid until somebody ends it. */
export const TOKEN_DAYS = [30, 90, 365] as const;
/** The name a person's claims give to a session and to the access log, as long as a token's. */
export const OIDC_NAME_CHARS_MAX = 100;
export const SESSION_HOURS = 12;
/** From the button to the answer of the identity provider: time for a password and a second factor. */
export const OIDC_FLOW_SECONDS = 600;
/** Flows that came to their end, remembered until they would have expired, so that none ends twice. */
export const OIDC_FLOWS_REMEMBERED_MAX = 10_000;
/** The place to return to is kept in a cookie, and browsers keep 4,096 bytes of one; a longer one becomes the first page. */
export const OIDC_NEXT_CHARS_MAX = 1_500;
/** An identity provider that takes longer counts as away. */
export const OIDC_REQUEST_MS_MAX = 5_000;
/** Its answers: metadata, keys and tokens have some KiB, with hundreds of groups some tens of them. */
export const OIDC_ANSWER_BYTES_MAX = 1 * MIB;
/** What it says about itself is asked for again after this: at most this long the button promises what is not there. */
export const OIDC_METADATA_MS = 60_000;
/** After a failure it is left alone for this long, however many people look at the button. */
export const OIDC_RETRY_MS = 2_000;
export const QUERY_CHARS_MAX = 500;
/** Ours have 46 characters; a configured one may be a pass phrase. */
export const TOKEN_CHARS_MAX = 500;

// Audit and replay

/** Receipts verified or replayed together. */
export const AUDIT_PAGE_RECEIPTS_MAX = 512;
/** Their bodies: with the parsed items and their rows a page takes some 50 MB. A single larger receipt is taken alone. */
export const AUDIT_PAGE_BYTES_MAX = 2 * MIB;
/** Rows read beyond those that a page's items account for: enough to show that there are too many. */
export const AUDIT_SURPLUS_ROWS_MAX = 1_000;
/** Events read at once while a message's state is worked out again. */
export const AUDIT_EVENTS_FETCHED_MAX = 5_000;
/** Messages looked at together. */
export const AUDIT_MESSAGES_MAX = 2_000;
/** Differences listed; beyond it they are counted. */
export const AUDIT_DIFFERENCES_MAX = 1_000;
/** One statement of a verification: grouping all events of a nameless message takes longest. */
export const AUDIT_STATEMENT_MS_MAX = 10 * 60_000;
/** How often a verification writes down how far it is: what a kill -9 costs. */
export const AUDIT_STATE_MS = 2_000;

/** Rows of each side in memory while the ledger is compared with another table. */
export const COMPARE_PAGE_ROWS = 1_000;
/** Ids named on each side where they differ; beyond it they are counted. */
export const COMPARE_LISTED_DEFAULT = 20;
export const COMPARE_LISTED_MAX = 10_000;
/** The other table may have an event at another time than its own (its arrival): SendGrid tries for a day, and may be late. */
export const COMPARE_MARGIN_SECONDS = 3 * 24 * 3_600;
/** The first page waits until a whole table is sorted: a hundred million ids at a few hundred thousand a second. */
export const COMPARE_STATEMENT_MS_MAX = 30 * 60_000;

// Reconciliation

/** An event younger than this is on its way: SendGrid posts every 30 s, and shows a message in its API after about a minute. */
export const RECONCILE_SETTLE_SECONDS = 120;
/** After so long SendGrid's figures of a day no longer move: its own patience of 24 h, a late day, and one in reserve. */
export const RECONCILE_FINAL_SECONDS = 72 * 3_600;
/** Days looked at by the nightly check, and by the command unless it is told: those that can still change, and today. */
export const RECONCILE_DAYS = 4;
/** SendGrid's messages reach back a month at most. */
export const RECONCILE_RANGE_DAYS_MAX = 92;
/** Calls for messages and lists that one day of one account may cost: at 6 a minute, a night of more than five hours. */
export const RECONCILE_DAY_CALLS_MAX = 2_000;
/** Of those, calls for messages that nothing points at, in the order of likelihood: 50 minutes. */
export const RECONCILE_GUESS_CALLS_MAX = 300;
/** Calls that one look for the kinds without a total may cost: few messages have one. */
export const RECONCILE_GROUP_CALLS_MAX = 10;
/** Messages that a list must not hold more than when it is planned: a tenth is left for those the ledger does not know. */
export const RECONCILE_WINDOW_MESSAGES_MAX = 900;
/** Messages made that long before a day may still have events in it: a delivery is tried for 72 h. */
export const RECONCILE_EARLIER_DAYS = 3;
/** Suspects, candidates and gaps read at once. */
export const RECONCILE_PAGE_ROWS = 500;
/** Events of one message held against its record; a record has 100, or those of a scanner. */
export const RECONCILE_MESSAGE_EVENTS_MAX = 10_000;
/** Messages already asked that an unfinished run remembers: more are asked again. */
export const RECONCILE_ASKED_KEPT_MAX = 2_000;
/** Pages of one suppression list and day: 10,000 addresses. */
export const RECONCILE_SUPPRESSION_PAGES_MAX = 20;
/** How far an entry of a suppression list may lie from its event. */
export const RECONCILE_SUPPRESSION_SECONDS = 24 * 3_600;
/** Totals and suppression lists have no published limit; SendGrid's other v3 endpoints allow 600 a minute. */
export const RECORDS_CALLS_PER_MINUTE = 60;
/** Calls without a usable answer before an API is given up for a run (it is left alone for longer and longer between them); failed runs before a night is. */
export const RECONCILE_TRIES_MAX = 3;
/** Answers 429 to one question before it is given up: each is waited out. */
export const RECONCILE_LIMITED_MAX = 60;
/** An unfinished run is gone on with for so long; later, its days have changed. */
export const RECONCILE_RESUME_SECONDS = 24 * 3_600;
/** How long a check waits for receipts that wait to be projected: what lies there is not missing. */
export const RECONCILE_INBOX_SECONDS_MAX = 300;
/** How long the service waits for its projector to carry out repairs; later ones are seen by the next check. */
export const RECONCILE_REPAIRS_SECONDS_MAX = 120;
/** How often a waiting check looks again. */
export const RECONCILE_POLL_MS = 1_000;
/** How often the schedule looks for orders and whether it is night. */
export const RECONCILE_IDLE_MS = 5_000;
/** The local hour of the nightly check: the day that just ended is over everywhere in the account. */
export const RECONCILE_NIGHT_HOUR = 3;
/** SendGrid's first event of a send comes within seconds; its webhook may try again for a while. */
export const REGISTER_WAIT_SECONDS = 3_600;
/** A registered send without an event is looked for again after this, and later after a hundredth of its age. */
export const REGISTER_AGAIN_SECONDS = 60;
/** Sends looked for together, in one statement. */
export const REGISTER_SENDS_MAX = 500;
/** One statement over a day's events. */
export const RECONCILE_STATEMENT_MS_MAX = 10 * 60_000;
/** Rows of a CSV export looked up together. */
export const RECONCILE_CSV_ROWS = 500;

// Repairs

/** Orders carried out in one transaction: as many messages may be locked, for the time of some ten statements. */
export const REPAIR_ORDERS_MAX = 500;

// Purge of simulated data

/** Receipt or message numbers looked at in one transaction, whose time a statement's limit must allow. */
export const PURGE_NUMBERS_MAX = 20_000;

// Health

/** How often a process writes down that it runs, and looks at its disk. */
export const HEARTBEAT_MS = 5_000;
/** How often the database's durability settings are asked for. */
export const DURABILITY_CHECK_MS = 60_000;
/** A process that said nothing for this long has ended: six missed beats. */
export const INSTANCE_GONE_SECONDS = 30;
/** How often refusals are written down. */
export const REFUSALS_FLUSH_MS = 5_000;

// Alerts

export const ALERT_CHECK_MS = 5_000;
/** A receiver that does not answer by then is tried again. */
export const ALERT_DELIVERY_MS_MAX = 5_000;
/** With waits of 30 s, doubled each time: about four hours. */
export const ALERT_DELIVERY_TRIES_MAX = 10;
/** An inbox this old means the projector is not keeping up. */
export const ALERT_INBOX_AGE_SECONDS = 60;
/** SendGrid retries within minutes at first: when nothing was refused for this long, the cause is gone. */
export const ALERT_REFUSED_SECONDS = 15 * 60;
/** What a usual week has in the hours of a silence before it is one. By chance alone (Poisson) 20 expected POSTs are none once in e^20, 5e8, times. */
export const SILENCE_RECEIPTS_MIN = 20;
/** The weeks before that a silence is compared with, and how many of them must have been busy: one holiday or outage among them does not hide it. */
export const SILENCE_WEEKS = 4;
export const SILENCE_BUSY_WEEKS_MIN = 3;
/** A source without events for so long was given up: the alert ends by itself. */
export const SILENCE_GIVEN_UP_DAYS = 35;
/** A gap younger than this may be about to close by itself: events come late, and an order takes its time. */
export const ALERT_GAP_SECONDS = 3_600;
/** What was repaired is shown for this long: it tells that something on the way loses events. */
export const ALERT_REPAIRED_DAYS = 7;
/** A run each night, overdue for two days. */
export const ALERT_RECONCILIATION_DAYS = 3;

// Simulator

/** One bit an event is kept, and each is made twice: this many take an hour and 6 MB. */
export const SIMULATED_EVENTS_MAX = 50_000_000;
/** SendGrid posts at 768 KB at the latest, which is about a thousand events. */
export const SIMULATED_BATCH_MAX = 10_000;
export const SIMULATED_CONCURRENCY_MAX = 256;
/** What SendGrid waits for an answer is not published; 10 s is what its users report. */
export const SIMULATED_REQUEST_MS_MAX = 10_000;
/** SendGrid goes on for 24 hours. 60 retries with waits up to 10 s are about ten minutes: longer than any restart. */
export const SIMULATED_RETRIES_MAX = 60;
export const SIMULATED_RETRY_MS_MAX = 10_000;
/** The comparison waits for the inbox to empty; when nothing moves for this long, it compares what there is. */
export const SIMULATED_STILL_MS_MAX = 60_000;
/** Messages compared in one statement. */
export const SIMULATED_COMPARE_MESSAGES_MAX = 1_000;

/** A simulation ordered on the page: it shares the process with the service. */
export const PAGE_SIMULATION_EVENTS_MAX = 200_000;
export const PAGE_SIMULATION_RATE_MAX = 10_000;
export const PAGE_SIMULATION_DEADLOCKS_MAX = 20;
export const PAGE_SIMULATION_SEED_CHARS_MAX = 40;
/** How often its figures are read. */
export const PAGE_SIMULATION_SAMPLE_MS = 1_000;
/** Points of its chart; when there are more, every other one goes. */
export const PAGE_SIMULATION_SAMPLES_MAX = 240;
/** A lock that nobody waits for within this is given back, so that the ledger is never held up. */
export const PAGE_SIMULATION_LOCK_MS_MAX = 900;

// The process

/** All of a clean stop. Orchestrators kill after 10 s by default. */
export const STOP_MS_MAX = 9_000;
/** A start that finds PostgreSQL away asks for it again after this, and says so in the log no more often than that. */
export const AWAY_RETRY_MS = 1_000;
export const AWAY_LOG_MS = 60_000;
/** What is still in PostgreSQL's hands when a stop has lasted this long is cut off: it would not end in time, or never. */
export const STOP_ORDERLY_MS_MAX = 4_000;
/** A connection is closed in two messages; one that is not closed by then has nobody at its other end. */
export const SOCKETS_CLOSE_MS_MAX = 500;
