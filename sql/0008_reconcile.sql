-- Completeness: what SendGrid's own records say beside what the ledger holds, the gaps between them, and their repair.
--
-- An account is one of SendGrid's: '' for the account of the API key, else the name of a subuser. A day is a day of the
-- account's time zone.

-- Finds the events of a day. Events arrive roughly in the order of their times, so a block range holds few days.
CREATE INDEX events_occurred_at ON events USING brin (occurred_at timestamptz_minmax_multi_ops) WITH (pages_per_range = 32, autosummarize = on);

-- Views and the schedule insert; reconcile carries out and deletes. Days: from, up to and including to.
CREATE TABLE reconciliation_orders (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  from_day date NOT NULL,
  to_day date NOT NULL,
  repair boolean NOT NULL,
  name text NOT NULL,
  ordered_at timestamptz NOT NULL DEFAULT now(),
  CHECK (from_day <= to_day)
);

-- Each time days were compared. Written by reconcile. progress: how far it is, so that an interrupted run goes on there.
CREATE TABLE reconciliation_runs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  from_day date NOT NULL,
  to_day date NOT NULL,
  repair boolean NOT NULL,
  name text NOT NULL,
  state text COLLATE "C" NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'finished', 'failed')),
  started_at timestamptz NOT NULL DEFAULT now(),
  finished_at timestamptz,
  calls integer NOT NULL DEFAULT 0,
  progress jsonb NOT NULL DEFAULT '{}',
  error text
);

-- The latest result of a day and account. Written by reconcile. kinds: one object for each kind of event,
-- {kind, sendgrid, held, repaired, missing, open, surplus, counted, checkedBy, confidence}; sendgrid is null where no total
-- exists; held has the repaired among it; counted are twins that SendGrid's records know as events of their own.
-- state: equal (nothing missing), repaired (missing, and all of it repaired), suspected (only rules say so),
-- missing (something missing is not repaired), unknown (SendGrid could not be asked).
-- final: the day ended more than 72 hours before it was checked, so that SendGrid's figures no longer move.
CREATE TABLE reconciliations (
  day date NOT NULL,
  account text COLLATE "C" NOT NULL,
  run bigint NOT NULL,
  state text COLLATE "C" NOT NULL CHECK (state IN ('equal', 'repaired', 'suspected', 'missing', 'unknown')),
  final boolean NOT NULL,
  missing bigint NOT NULL,
  repaired bigint NOT NULL,
  open bigint NOT NULL,
  kinds jsonb NOT NULL,
  -- Simulated sources were counted too; a purge of simulated data takes this result with it.
  simulated boolean NOT NULL DEFAULT false,
  time_zone text NOT NULL,
  -- What this check asked for: lists, listsPlanned (fewer asked: a sample), messages, suppressions.
  checked jsonb NOT NULL DEFAULT '{}',
  checked_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (day, account)
);

-- What a day's result was before it changed, and why it changed. Written by reconcile; append-only.
CREATE TABLE reconciliation_changes (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  day date NOT NULL,
  account text COLLATE "C" NOT NULL,
  run bigint NOT NULL,
  before jsonb NOT NULL,
  after jsonb NOT NULL,
  reasons text[] NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX reconciliation_changes_day ON reconciliation_changes (day, account);

-- Events that should be in the ledger and are not, each with how it was found. Written by reconcile.
-- identity: what makes it this gap, whatever finds it again. kind: as in reconciliations.kinds: the event's type, but
-- blocked for a bounce that was a block; of a rule, the likeliest. evidence: run is the one that found it.
-- rule: logs, messages, csv, suppression, register, or a life-cycle rule. item: the event in the webhook's form, where an
-- API told it. state: open, ordered (its repair is), repaired (filed from elsewhere), arrived (its webhook came after all),
-- closed (it was none: the rule no longer says so).
CREATE TABLE gaps (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  occurred_at timestamptz,
  found_at timestamptz NOT NULL DEFAULT now(),
  closed_at timestamptz,
  message bigint,
  source smallint,
  day date NOT NULL,
  account text COLLATE "C" NOT NULL,
  identity text COLLATE "C" NOT NULL UNIQUE,
  kind text COLLATE "C" NOT NULL,
  rule text COLLATE "C" NOT NULL,
  confidence text COLLATE "C" NOT NULL CHECK (confidence IN ('suspected', 'confirmed')),
  state text COLLATE "C" NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'ordered', 'repaired', 'arrived', 'closed')),
  message_id text COLLATE "C",
  event_id text COLLATE "C",
  recipient text,
  item jsonb,
  evidence jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX gaps_day ON gaps (day, account);
CREATE INDEX gaps_open ON gaps (id) WHERE state IN ('open', 'ordered');
CREATE INDEX gaps_message ON gaps (message_id) WHERE state IN ('open', 'ordered');

-- Reconcile inserts; the ledger carries out and deletes. item: the event in the webhook's form.
CREATE TABLE repair_orders (
  gap bigint PRIMARY KEY,
  origin origin NOT NULL CHECK (origin <> 'webhook'),
  source smallint NOT NULL,
  item jsonb NOT NULL,
  ordered_at timestamptz NOT NULL DEFAULT now()
);

-- What became of each order: filed as an event of that origin, or held already (nothing was filed). Written by the ledger.
-- When the real event arrives later, it takes the place of the filed one, and this row says which came from where.
CREATE TABLE repairs (
  gap bigint PRIMARY KEY,
  message bigint,
  event_id text COLLATE "C",
  origin origin NOT NULL,
  outcome text COLLATE "C" NOT NULL CHECK (outcome IN ('filed', 'held', 'unreadable')),
  item jsonb NOT NULL,
  repaired_at timestamptz NOT NULL DEFAULT now(),
  replaced_at timestamptz,
  replaced_by text COLLATE "C",
  replaced_by_receipt bigint
);
CREATE INDEX repairs_event ON repairs (message, event_id);
-- What an alert asks for every few seconds.
CREATE INDEX repairs_standing ON repairs (repaired_at) WHERE outcome = 'filed' AND replaced_at IS NULL;
