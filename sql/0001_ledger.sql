-- The ledger: what came in, what it was turned into, and the counts that must agree.
-- Who writes which table is said above each; ARCHITECTURE.md has the whole list.

-- Rank order: GREATEST() over this type is the merge of two delivery states (promise P3).
CREATE TYPE delivery AS ENUM ('unknown', 'processed', 'deferred', 'delivered', 'dropped', 'blocked', 'bounced');
CREATE TYPE origin AS ENUM ('webhook', 'logs', 'messages', 'csv');

-- Written by intake/.
CREATE TABLE sources (
  id smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
  simulated boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now()
);

-- Written by intake/. Keys are never deleted: an old receipt's signature must stay checkable.
CREATE TABLE source_keys (
  id smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  source smallint NOT NULL REFERENCES sources,
  public_key bytea NOT NULL,
  valid_from timestamptz NOT NULL DEFAULT now(),
  valid_until timestamptz,
  UNIQUE (source, public_key)
);

-- A process takes a thousand numbers at once, so that a receipt's number is known before it is inserted.
CREATE SEQUENCE receipt_ids AS bigint INCREMENT BY 1000;

-- Written by intake/. Append-only: the truth from which all else can be rebuilt.
-- signature and signed_at are the two headers as they came, since both are needed to check the signature again.
CREATE TABLE receipts (
  id bigint NOT NULL,
  received_at timestamptz NOT NULL,
  source smallint NOT NULL,
  key smallint,
  signed_at text COLLATE "C",
  signature text COLLATE "C",
  sha256 bytea NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (id, received_at)
) PARTITION BY RANGE (received_at);
-- lz4 where the server was built with it (the embedded one was not: its pglz packs about as well, more slowly).
DO $$ BEGIN
  ALTER TABLE receipts ALTER COLUMN body SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN NULL;
END $$;
CREATE TABLE receipts_default PARTITION OF receipts DEFAULT;

-- Intake inserts (in the receipt's own statement); the projecting transaction deletes.
-- A queue table turns over completely: vacuum it by rows, not by share.
CREATE TABLE inbox (
  receipt bigint PRIMARY KEY,
  received_at timestamptz NOT NULL,
  bytes integer NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz NOT NULL DEFAULT '-infinity',
  last_error text
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Written by ledger/. message_id is null for a source's nameless message, which holds the events that name none.
-- No index holds a column that later events change, so that updates stay in their page (hence the fillfactor).
CREATE TABLE messages (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  first_event_at timestamptz,
  last_event_at timestamptz,
  processed_at timestamptz,
  deferred_at timestamptz,
  delivered_at timestamptz,
  failed_at timestamptz,
  first_open_at timestamptz,
  last_open_at timestamptz,
  first_machine_open_at timestamptz,
  last_machine_open_at timestamptz,
  first_click_at timestamptz,
  last_click_at timestamptz,
  first_complaint_at timestamptz,
  last_complaint_at timestamptz,
  first_unsubscribe_at timestamptz,
  last_unsubscribe_at timestamptz,
  last_resubscribe_at timestamptz,
  delivery delivery NOT NULL DEFAULT 'unknown',
  opens integer NOT NULL DEFAULT 0,
  machine_opens integer NOT NULL DEFAULT 0,
  clicks integer NOT NULL DEFAULT 0,
  source smallint NOT NULL,
  message_id text COLLATE "C",
  recipient text COLLATE "C",
  categories text[] NOT NULL DEFAULT '{}',
  args jsonb NOT NULL DEFAULT '{}'
) WITH (fillfactor = 85);
CREATE UNIQUE INDEX messages_message_id ON messages (message_id);
CREATE UNIQUE INDEX messages_nameless ON messages (source) WHERE message_id IS NULL;
CREATE INDEX messages_recipient ON messages (lower(recipient) COLLATE "C", id);
CREATE INDEX messages_categories ON messages USING gin (categories);
CREATE INDEX messages_args ON messages USING gin (args jsonb_path_ops);
CREATE INDEX messages_first_event_at ON messages USING brin (first_event_at);

-- Written by ledger/. The names of custom args seen so far, so that a value is found without naming its key.
CREATE TABLE arg_keys (
  key text COLLATE "C" PRIMARY KEY,
  first_seen_at timestamptz NOT NULL DEFAULT now()
);

-- Written by ledger/. The primary key is the exactly-once rule (promise P2) and the timeline in one index.
CREATE TABLE events (
  message bigint NOT NULL,
  occurred_at timestamptz NOT NULL,
  receipt bigint,
  ordinal integer NOT NULL,
  origin origin NOT NULL,
  source smallint NOT NULL,
  twin boolean NOT NULL,
  nameless boolean NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  recipient text COLLATE "C",
  detail jsonb NOT NULL,
  PRIMARY KEY (message, event_id)
);
-- Events that name no message are linked to a person by address and time.
CREATE INDEX events_nameless ON events (lower(recipient) COLLATE "C", occurred_at) WHERE nameless;

-- Written by ledger/. What cannot become an event, with its bytes. ordinal is -1 when the whole body is meant.
CREATE TABLE quarantine (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  receipt bigint NOT NULL,
  received_at timestamptz NOT NULL,
  source smallint NOT NULL,
  ordinal integer NOT NULL,
  reason text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'replayed')),
  bytes bytea NOT NULL,
  quarantined_at timestamptz NOT NULL DEFAULT now(),
  replayed_at timestamptz,
  UNIQUE (receipt, ordinal)
);
CREATE INDEX quarantine_open ON quarantine (id) WHERE state = 'open';

-- Written by ledger/. One row per hour of arrival and source; the balance is a sum over these.
CREATE TABLE tallies (
  hour timestamptz NOT NULL,
  source smallint NOT NULL,
  receipts bigint NOT NULL DEFAULT 0,
  accepted bigint NOT NULL DEFAULT 0,
  stored bigint NOT NULL DEFAULT 0,
  duplicate bigint NOT NULL DEFAULT 0,
  twin bigint NOT NULL DEFAULT 0,
  quarantined bigint NOT NULL DEFAULT 0,
  sanitised bigint NOT NULL DEFAULT 0,
  retries bigint NOT NULL DEFAULT 0,
  rescued bigint NOT NULL DEFAULT 0,
  exhausted bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (hour, source)
) WITH (fillfactor = 50);

-- The merge of two messages' custom args: where both know a key, the greater text in byte order wins, so that the
-- order of arrival does not matter. The same rule stands in ledger/merge.ts.
CREATE FUNCTION merge_args(a jsonb, b jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce(jsonb_object_agg(key, value), '{}')
  FROM (
    SELECT key, max(value COLLATE "C") AS value
    FROM (SELECT * FROM jsonb_each_text(a) UNION ALL SELECT * FROM jsonb_each_text(b)) AS pairs
    GROUP BY key
  ) AS merged
$$;
