-- Enrichment: what SendGrid's own API knows about a message, and the means to ask politely.

CREATE TYPE enrichment_state AS ENUM ('pending', 'enriched', 'failed');

-- The projecting transaction inserts the row as pending (so the order cannot be lost, promise P5); enrichment/ updates it.
-- Apart from messages, so that enrichment and projection never wait for each other's row locks.
CREATE TABLE enrichments (
  message bigint PRIMARY KEY,
  next_attempt_at timestamptz NOT NULL,
  asked_at timestamptz,
  last_event_at timestamptz,
  state enrichment_state NOT NULL DEFAULT 'pending',
  opens integer,
  clicks integer,
  attempts smallint NOT NULL DEFAULT 0,
  api text COLLATE "C",
  status text COLLATE "C",
  subject text,
  sender text,
  template text,
  error text
) WITH (fillfactor = 60);
-- The queue: what is due is found by time, however long the queue is.
CREATE INDEX enrichments_pending ON enrichments (next_attempt_at) WHERE state = 'pending';
CREATE INDEX enrichments_failed ON enrichments (message) WHERE state = 'failed';
CREATE INDEX enrichments_subject ON enrichments USING gin (to_tsvector('simple', coalesce(subject, '')));

-- Views insert (a person has this message open, or asks for a retry); enrichment deletes. attempts counts calls that
-- brought no answer, so that an order that cannot be answered gives way.
CREATE TABLE enrichment_orders (
  message bigint PRIMARY KEY,
  ordered_at timestamptz NOT NULL DEFAULT now(),
  attempts smallint NOT NULL DEFAULT 0
);

-- Written by sendgrid/. One row per provider API: may it be asked, and when it was asked lately (the budget).
-- Kept in the database so that a restart or a second instance does not get a fresh allowance.
-- called_at: the calls of the last minute.
-- failures: calls in a row without a usable answer. limited: answers 429, ever. refused_at: its latest 403.
-- changed_at: when state last changed.
CREATE TABLE provider_apis (
  name text COLLATE "C" PRIMARY KEY,
  state text COLLATE "C" NOT NULL DEFAULT 'available' CHECK (state IN ('available', 'forbidden')),
  reason text,
  called_at timestamptz[] NOT NULL DEFAULT '{}',
  blocked_until timestamptz,
  calls bigint NOT NULL DEFAULT 0,
  limited bigint NOT NULL DEFAULT 0,
  failures integer NOT NULL DEFAULT 0,
  refused_at timestamptz,
  changed_at timestamptz NOT NULL DEFAULT now()
);
