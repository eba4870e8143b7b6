-- The schema as it stands after all migrations: to be read, and compared by `npm run check`. Never run.
-- Made by `npm run schema`. Do not edit: write a migration.

CREATE TYPE delivery AS ENUM ('unknown', 'processed', 'deferred', 'delivered', 'dropped', 'blocked', 'bounced');

CREATE TYPE enrichment_state AS ENUM ('pending', 'enriched', 'failed');

CREATE TYPE origin AS ENUM ('webhook', 'logs', 'messages', 'csv');

CREATE SEQUENCE receipt_ids AS bigint INCREMENT BY 1000 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1;

CREATE TABLE access_log (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  at timestamp with time zone NOT NULL DEFAULT now(),
  token integer,
  name text NOT NULL,
  role text COLLATE "C" NOT NULL,
  action text COLLATE "C" NOT NULL,
  subject text,
  CONSTRAINT access_log_pkey PRIMARY KEY (id)
);

CREATE TABLE alert_acknowledgements (
  alert bigint NOT NULL,
  name text NOT NULL,
  at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT alert_acknowledgements_pkey PRIMARY KEY (alert)
);

CREATE TABLE alerts (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  kind text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL DEFAULT ''::text,
  count bigint NOT NULL,
  since timestamp with time zone NOT NULL,
  opened_at timestamp with time zone NOT NULL DEFAULT now(),
  seen_at timestamp with time zone NOT NULL DEFAULT now(),
  resolved_at timestamp with time zone,
  CONSTRAINT alerts_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX alerts_open ON alerts USING btree (kind, source) WHERE resolved_at IS NULL;

CREATE TABLE arg_keys (
  key text COLLATE "C" NOT NULL,
  first_seen_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT arg_keys_pkey PRIMARY KEY (key)
);

CREATE TABLE detail_parts (
  id integer NOT NULL GENERATED ALWAYS AS IDENTITY,
  part jsonb NOT NULL,
  CONSTRAINT detail_parts_pkey PRIMARY KEY (id)
);

CREATE TABLE enrichment_orders (
  message bigint NOT NULL,
  ordered_at timestamp with time zone NOT NULL DEFAULT now(),
  attempts smallint NOT NULL DEFAULT 0,
  CONSTRAINT enrichment_orders_pkey PRIMARY KEY (message)
);

CREATE TABLE enrichments (
  message bigint NOT NULL,
  next_attempt_at timestamp with time zone NOT NULL,
  asked_at timestamp with time zone,
  last_event_at timestamp with time zone,
  state enrichment_state NOT NULL DEFAULT 'pending'::enrichment_state,
  opens integer,
  clicks integer,
  attempts smallint NOT NULL DEFAULT 0,
  api text COLLATE "C",
  status text COLLATE "C",
  subject text,
  sender text,
  template text,
  error text,
  CONSTRAINT enrichments_pkey PRIMARY KEY (message)
) WITH (fillfactor=90);
CREATE INDEX enrichments_failed ON enrichments USING btree (message) WHERE state = 'failed'::enrichment_state;
CREATE INDEX enrichments_pending ON enrichments USING btree (next_attempt_at) WHERE state = 'pending'::enrichment_state;
CREATE INDEX enrichments_subject ON enrichments USING gin (to_tsvector('simple'::regconfig, subject)) WHERE subject IS NOT NULL;

CREATE TABLE events (
  message bigint NOT NULL,
  occurred_at timestamp with time zone NOT NULL,
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
  mailing_part integer,
  channel_part integer
);
CREATE UNIQUE INDEX events_identity ON events USING btree (message, hashtextextended(event_id, 0::bigint)) WITH (fillfactor='75');
CREATE INDEX events_nameless ON events USING btree (lower(recipient), occurred_at) WHERE nameless;
CREATE INDEX events_occurred_at ON events USING brin (occurred_at timestamptz_minmax_multi_ops) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX events_receipt ON events USING brin (receipt int8_minmax_multi_ops) WITH (pages_per_range='32', autosummarize='on');

CREATE TABLE gaps (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  occurred_at timestamp with time zone,
  found_at timestamp with time zone NOT NULL DEFAULT now(),
  closed_at timestamp with time zone,
  message bigint,
  source smallint,
  day date NOT NULL,
  account text COLLATE "C" NOT NULL,
  identity text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  rule text COLLATE "C" NOT NULL,
  confidence text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL DEFAULT 'open'::text,
  message_id text COLLATE "C",
  event_id text COLLATE "C",
  recipient text,
  item jsonb,
  evidence jsonb NOT NULL DEFAULT '{}'::jsonb,
  CONSTRAINT gaps_pkey PRIMARY KEY (id),
  CONSTRAINT gaps_identity_key UNIQUE (identity),
  CONSTRAINT gaps_confidence_check CHECK (confidence = ANY (ARRAY['suspected'::text, 'confirmed'::text])),
  CONSTRAINT gaps_state_check CHECK (state = ANY (ARRAY['open'::text, 'ordered'::text, 'repaired'::text, 'arrived'::text, 'closed'::text]))
);
CREATE INDEX gaps_day ON gaps USING btree (day, account);
CREATE INDEX gaps_message ON gaps USING btree (message_id) WHERE state = ANY (ARRAY['open'::text, 'ordered'::text]);
CREATE INDEX gaps_open ON gaps USING btree (id) WHERE state = ANY (ARRAY['open'::text, 'ordered'::text]);

CREATE TABLE inbox (
  receipt bigint NOT NULL,
  received_at timestamp with time zone NOT NULL,
  bytes integer NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  next_attempt_at timestamp with time zone NOT NULL DEFAULT '-infinity'::timestamp with time zone,
  last_error text,
  CONSTRAINT inbox_pkey PRIMARY KEY (receipt)
) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=2000);

CREATE TABLE instances (
  id text COLLATE "C" NOT NULL,
  host text NOT NULL,
  pid integer NOT NULL,
  version text NOT NULL,
  roles text[] NOT NULL,
  started_at timestamp with time zone NOT NULL DEFAULT now(),
  seen_at timestamp with time zone NOT NULL DEFAULT now(),
  unsafe text[] NOT NULL DEFAULT '{}'::text[],
  weak text[] NOT NULL DEFAULT '{}'::text[],
  clock_skew_ms bigint NOT NULL DEFAULT 0,
  disk_free_bytes bigint,
  disk_low boolean NOT NULL DEFAULT false,
  spool_posts integer NOT NULL DEFAULT 0,
  spool_bytes bigint NOT NULL DEFAULT 0,
  spool_oldest_event_at timestamp with time zone,
  CONSTRAINT instances_pkey PRIMARY KEY (id)
);

CREATE TABLE messages (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  first_event_at timestamp with time zone,
  last_event_at timestamp with time zone,
  processed_at timestamp with time zone,
  deferred_at timestamp with time zone,
  delivered_at timestamp with time zone,
  failed_at timestamp with time zone,
  first_open_at timestamp with time zone,
  last_open_at timestamp with time zone,
  first_machine_open_at timestamp with time zone,
  last_machine_open_at timestamp with time zone,
  first_click_at timestamp with time zone,
  last_click_at timestamp with time zone,
  first_complaint_at timestamp with time zone,
  last_complaint_at timestamp with time zone,
  first_unsubscribe_at timestamp with time zone,
  last_unsubscribe_at timestamp with time zone,
  last_resubscribe_at timestamp with time zone,
  delivery delivery NOT NULL DEFAULT 'unknown'::delivery,
  opens integer NOT NULL DEFAULT 0,
  machine_opens integer NOT NULL DEFAULT 0,
  clicks integer NOT NULL DEFAULT 0,
  source smallint NOT NULL,
  message_id text COLLATE "C",
  recipient text COLLATE "C",
  categories text[] NOT NULL DEFAULT '{}'::text[],
  args jsonb NOT NULL DEFAULT '{}'::jsonb,
  CONSTRAINT messages_pkey PRIMARY KEY (id)
) WITH (fillfactor=85);
CREATE INDEX messages_args ON messages USING gin (args jsonb_path_ops) WITH (gin_pending_list_limit='256');
CREATE INDEX messages_categories ON messages USING gin (categories) WITH (gin_pending_list_limit='256');
CREATE INDEX messages_first_event_at ON messages USING brin (first_event_at);
CREATE UNIQUE INDEX messages_identity ON messages USING btree ("left"(message_id, 12), hashtextextended(message_id, 0::bigint));
CREATE UNIQUE INDEX messages_nameless ON messages USING btree (source) WHERE message_id IS NULL;
CREATE INDEX messages_recipient ON messages USING btree (lower(recipient), id);

CREATE TABLE migrations (
  number integer NOT NULL,
  applied_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT migrations_pkey PRIMARY KEY (number)
);

CREATE TABLE provider_apis (
  name text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL DEFAULT 'available'::text,
  reason text,
  called_at timestamp with time zone[] NOT NULL DEFAULT '{}'::timestamp with time zone[],
  blocked_until timestamp with time zone,
  calls bigint NOT NULL DEFAULT 0,
  limited bigint NOT NULL DEFAULT 0,
  failures integer NOT NULL DEFAULT 0,
  refused_at timestamp with time zone,
  changed_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT provider_apis_pkey PRIMARY KEY (name),
  CONSTRAINT provider_apis_state_check CHECK (state = ANY (ARRAY['available'::text, 'forbidden'::text]))
);

CREATE TABLE purge_orders (
  single boolean NOT NULL DEFAULT true,
  ordered_at timestamp with time zone NOT NULL DEFAULT now(),
  phase text COLLATE "C" NOT NULL DEFAULT 'receipts'::text,
  after bigint NOT NULL DEFAULT 0,
  found boolean NOT NULL DEFAULT false,
  CONSTRAINT purge_orders_pkey PRIMARY KEY (single),
  CONSTRAINT purge_orders_phase_check CHECK (phase = ANY (ARRAY['receipts'::text, 'messages'::text, 'rest'::text])),
  CONSTRAINT purge_orders_single_check CHECK (single)
);

CREATE TABLE quarantine (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  receipt bigint NOT NULL,
  received_at timestamp with time zone NOT NULL,
  source smallint NOT NULL,
  ordinal integer NOT NULL,
  reason text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL DEFAULT 'open'::text,
  bytes bytea NOT NULL,
  quarantined_at timestamp with time zone NOT NULL DEFAULT now(),
  replayed_at timestamp with time zone,
  CONSTRAINT quarantine_pkey PRIMARY KEY (id),
  CONSTRAINT quarantine_receipt_ordinal_key UNIQUE (receipt, ordinal),
  CONSTRAINT quarantine_state_check CHECK (state = ANY (ARRAY['open'::text, 'replayed'::text]))
);
CREATE INDEX quarantine_open ON quarantine USING btree (id) WHERE state = 'open'::text;

CREATE TABLE rates (
  step integer NOT NULL,
  at timestamp with time zone NOT NULL,
  source smallint NOT NULL,
  processed integer NOT NULL,
  deferred integer NOT NULL,
  delivered integer NOT NULL,
  failed integer NOT NULL,
  engaged integer NOT NULL,
  objected integer NOT NULL,
  other integer NOT NULL,
  retries integer NOT NULL,
  CONSTRAINT rates_pkey PRIMARY KEY (step, at, source)
) WITH (fillfactor=50);

CREATE TABLE receipt_dictionaries (
  number smallint NOT NULL GENERATED ALWAYS AS IDENTITY,
  learnt_at timestamp with time zone NOT NULL DEFAULT now(),
  sha256 bytea NOT NULL,
  dictionary bytea NOT NULL,
  CONSTRAINT receipt_dictionaries_pkey PRIMARY KEY (number)
);

CREATE TABLE receipts (
  id bigint NOT NULL,
  received_at timestamp with time zone NOT NULL,
  source smallint NOT NULL,
  key smallint,
  signed_at text COLLATE "C",
  signature text COLLATE "C",
  sha256 bytea NOT NULL,
  body bytea STORAGE EXTERNAL NOT NULL,
  codec smallint NOT NULL DEFAULT 0,
  bytes integer,
  signature_bytes bytea,
  CONSTRAINT receipts_pkey PRIMARY KEY (id, received_at),
  CONSTRAINT receipts_check CHECK ((codec = 0) = (bytes IS NULL))
) PARTITION BY RANGE (received_at);

CREATE TABLE receipts_default PARTITION OF receipts DEFAULT (
  CONSTRAINT receipts_check CHECK ((codec = 0) = (bytes IS NULL))
);

CREATE TABLE reconciliation_changes (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  day date NOT NULL,
  account text COLLATE "C" NOT NULL,
  run bigint NOT NULL,
  before jsonb NOT NULL,
  after jsonb NOT NULL,
  reasons jsonb NOT NULL,
  changed_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT reconciliation_changes_pkey PRIMARY KEY (id)
);
CREATE INDEX reconciliation_changes_day ON reconciliation_changes USING btree (day, account);

CREATE TABLE reconciliation_orders (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  from_day date NOT NULL,
  to_day date NOT NULL,
  repair boolean NOT NULL,
  name text NOT NULL,
  ordered_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT reconciliation_orders_pkey PRIMARY KEY (id),
  CONSTRAINT reconciliation_orders_check CHECK (from_day <= to_day)
);

CREATE TABLE reconciliation_runs (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  from_day date NOT NULL,
  to_day date NOT NULL,
  repair boolean NOT NULL,
  name text NOT NULL,
  state text COLLATE "C" NOT NULL DEFAULT 'running'::text,
  started_at timestamp with time zone NOT NULL DEFAULT now(),
  finished_at timestamp with time zone,
  calls integer NOT NULL DEFAULT 0,
  progress jsonb NOT NULL DEFAULT '{}'::jsonb,
  error text,
  CONSTRAINT reconciliation_runs_pkey PRIMARY KEY (id),
  CONSTRAINT reconciliation_runs_state_check CHECK (state = ANY (ARRAY['running'::text, 'finished'::text, 'failed'::text]))
);

CREATE TABLE reconciliations (
  day date NOT NULL,
  account text COLLATE "C" NOT NULL,
  run bigint NOT NULL,
  state text COLLATE "C" NOT NULL,
  final boolean NOT NULL,
  missing bigint NOT NULL,
  repaired bigint NOT NULL,
  open bigint NOT NULL,
  kinds jsonb NOT NULL,
  simulated boolean NOT NULL DEFAULT false,
  time_zone text NOT NULL,
  checked jsonb NOT NULL DEFAULT '{}'::jsonb,
  checked_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT reconciliations_pkey PRIMARY KEY (day, account),
  CONSTRAINT reconciliations_state_check CHECK (state = ANY (ARRAY['equal'::text, 'repaired'::text, 'suspected'::text, 'missing'::text, 'unknown'::text]))
);

CREATE TABLE refusals (
  hour timestamp with time zone NOT NULL,
  source text COLLATE "C" NOT NULL,
  code text COLLATE "C" NOT NULL,
  count bigint NOT NULL,
  first_at timestamp with time zone NOT NULL,
  last_at timestamp with time zone NOT NULL,
  CONSTRAINT refusals_pkey PRIMARY KEY (hour, source, code)
);

CREATE TABLE repair_orders (
  gap bigint NOT NULL,
  origin origin NOT NULL,
  source smallint NOT NULL,
  item jsonb NOT NULL,
  ordered_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT repair_orders_pkey PRIMARY KEY (gap),
  CONSTRAINT repair_orders_origin_check CHECK (origin <> 'webhook'::origin)
);

CREATE TABLE repairs (
  gap bigint NOT NULL,
  message bigint,
  event_id text COLLATE "C",
  origin origin NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  item jsonb NOT NULL,
  repaired_at timestamp with time zone NOT NULL DEFAULT now(),
  replaced_at timestamp with time zone,
  replaced_by text COLLATE "C",
  replaced_by_receipt bigint,
  CONSTRAINT repairs_pkey PRIMARY KEY (gap),
  CONSTRAINT repairs_outcome_check CHECK (outcome = ANY (ARRAY['filed'::text, 'held'::text, 'unreadable'::text]))
);
CREATE INDEX repairs_event ON repairs USING btree (message, event_id);
CREATE INDEX repairs_standing ON repairs USING btree (repaired_at) WHERE outcome = 'filed'::text AND replaced_at IS NULL;

CREATE TABLE replay_orders (
  quarantine bigint NOT NULL,
  ordered_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT replay_orders_pkey PRIMARY KEY (quarantine)
);

CREATE TABLE sends (
  sent_at timestamp with time zone NOT NULL,
  registered_at timestamp with time zone NOT NULL DEFAULT now(),
  seen_at timestamp with time zone,
  next_look_at timestamp with time zone NOT NULL,
  recipients integer NOT NULL DEFAULT 1,
  source smallint NOT NULL,
  message_id text COLLATE "C" NOT NULL,
  recipient text,
  name text NOT NULL,
  args jsonb NOT NULL DEFAULT '{}'::jsonb,
  CONSTRAINT sends_pkey PRIMARY KEY (message_id),
  CONSTRAINT sends_recipients_check CHECK (recipients > 0)
) WITH (fillfactor=90);
CREATE INDEX sends_unseen ON sends USING btree (next_look_at) WHERE seen_at IS NULL;

CREATE TABLE source_key_orders (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  source text COLLATE "C",
  public_key bytea,
  others_until timestamp with time zone,
  key smallint,
  valid_until timestamp with time zone,
  ordered_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT source_key_orders_pkey PRIMARY KEY (id),
  CONSTRAINT source_key_orders_check CHECK ((public_key IS NULL) = (source IS NULL) AND (public_key IS NULL) <> (key IS NULL)),
  CONSTRAINT source_key_orders_source_check CHECK (source ~ '^[a-z0-9][a-z0-9_-]{0,62}$'::text)
);

CREATE TABLE source_keys (
  id smallint NOT NULL GENERATED ALWAYS AS IDENTITY,
  source smallint NOT NULL,
  public_key bytea NOT NULL,
  valid_from timestamp with time zone NOT NULL DEFAULT now(),
  valid_until timestamp with time zone,
  origin text COLLATE "C" NOT NULL DEFAULT 'environment'::text,
  used_at timestamp with time zone,
  CONSTRAINT source_keys_pkey PRIMARY KEY (id),
  CONSTRAINT source_keys_source_public_key_key UNIQUE (source, public_key),
  CONSTRAINT source_keys_origin_check CHECK (origin = ANY (ARRAY['environment'::text, 'page'::text])),
  CONSTRAINT source_keys_source_fkey FOREIGN KEY (source) REFERENCES sources(id)
);

CREATE TABLE sources (
  id smallint NOT NULL GENERATED ALWAYS AS IDENTITY,
  name text COLLATE "C" NOT NULL,
  simulated boolean NOT NULL DEFAULT false,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT sources_pkey PRIMARY KEY (id),
  CONSTRAINT sources_name_key UNIQUE (name),
  CONSTRAINT sources_name_check CHECK (name ~ '^[a-z0-9][a-z0-9_-]{0,62}$'::text)
);

CREATE TABLE tallies (
  hour timestamp with time zone NOT NULL,
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
  CONSTRAINT tallies_pkey PRIMARY KEY (hour, source)
) WITH (fillfactor=50);

CREATE TABLE tokens (
  id integer NOT NULL GENERATED ALWAYS AS IDENTITY,
  hash bytea NOT NULL,
  kind text COLLATE "C" NOT NULL,
  role text COLLATE "C" NOT NULL,
  name text NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  expires_at timestamp with time zone,
  used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  CONSTRAINT tokens_pkey PRIMARY KEY (id),
  CONSTRAINT tokens_hash_key UNIQUE (hash),
  CONSTRAINT tokens_kind_check CHECK (kind = ANY (ARRAY['api'::text, 'link'::text, 'session'::text])),
  CONSTRAINT tokens_role_check CHECK (role = ANY (ARRAY['support'::text, 'compliance'::text, 'admin'::text]))
);

CREATE VIEW whole_events AS
 SELECT e.message,
    e.occurred_at,
    e.receipt,
    e.ordinal,
    e.origin,
    e.source,
    e.twin,
    e.nameless,
    e.event_id,
    e.type,
        CASE
            WHEN e.recipient = ''::text THEN ( SELECT m.recipient
               FROM messages m
              WHERE m.id = e.message)
            ELSE e.recipient
        END AS recipient,
        CASE
            WHEN e.mailing_part IS NULL AND e.channel_part IS NULL THEN e.detail
            ELSE ((COALESCE(mailing.part, '{}'::jsonb) || COALESCE(channel.part - 'smtp-host'::text, '{}'::jsonb)) ||
            CASE
                WHEN channel.part ? 'smtp-host'::text THEN jsonb_build_object('smtp-id', ( SELECT ((('<'::text || split_part(m.message_id, '.'::text, 1)) || '@'::text) || (channel.part ->> 'smtp-host'::text)) || '>'::text
                   FROM messages m
                  WHERE m.id = e.message))
                ELSE '{}'::jsonb
            END) || e.detail
        END AS detail,
    e.recipient AS own_recipient
   FROM events e
     LEFT JOIN detail_parts mailing ON mailing.id = e.mailing_part
     LEFT JOIN detail_parts channel ON channel.id = e.channel_part;

CREATE OR REPLACE FUNCTION public.keep_event_recipients()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  UPDATE events SET recipient = OLD.recipient WHERE message = OLD.id AND recipient = '';
  RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION public.merge_args(a jsonb, b jsonb)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT coalesce(jsonb_object_agg(key, value), '{}')
  FROM (
    SELECT key, max(value COLLATE "C") AS value
    FROM (SELECT * FROM jsonb_each_text(a) UNION ALL SELECT * FROM jsonb_each_text(b)) AS pairs
    GROUP BY key
  ) AS merged
$function$;

CREATE TRIGGER messages_recipient_changed AFTER UPDATE OF recipient ON messages FOR EACH ROW WHEN (old.recipient IS NOT NULL AND old.recipient IS DISTINCT FROM new.recipient) EXECUTE FUNCTION keep_event_recipients();
