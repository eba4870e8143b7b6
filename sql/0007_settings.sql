-- What admins change on the page: keys of sources beside those of the settings, and the purge of simulated data.

-- Where it comes from: the settings of a process (environment), or an admin on the page. Only the latter can be changed there.
ALTER TABLE source_keys ADD COLUMN origin text COLLATE "C" NOT NULL DEFAULT 'environment' CHECK (origin IN ('environment', 'page'));
-- When a POST was last verified with it. Written down now and then, never in a request.
ALTER TABLE source_keys ADD COLUMN used_at timestamptz;

-- Views insert; intake carries out and deletes. public_key: a key to add to the source (made when there is none of this
-- name), whose other page keys then end at others_until, if there is one. key: a page key whose validity ends at
-- valid_until, or is open again.
CREATE TABLE source_key_orders (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  source text COLLATE "C" CHECK (source ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
  public_key bytea,
  others_until timestamptz,
  key smallint,
  valid_until timestamptz,
  ordered_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((public_key IS NULL) = (source IS NULL) AND (public_key IS NULL) <> (key IS NULL))
);

-- Views insert; the ledger carries out, notes how far it is, and deletes. One at a time.
-- after: in the phase's own numbers, where to go on. found: whether this pass met anything, so that another must follow.
CREATE TABLE purge_orders (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  ordered_at timestamptz NOT NULL DEFAULT now(),
  phase text COLLATE "C" NOT NULL DEFAULT 'receipts' CHECK (phase IN ('receipts', 'messages', 'rest')),
  after bigint NOT NULL DEFAULT 0,
  found boolean NOT NULL DEFAULT false
);
