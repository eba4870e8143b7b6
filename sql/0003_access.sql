-- Who may look, who looked, and what needs a person.

-- Written by views/. A token is shown once and kept as its SHA-256 only.
CREATE TABLE tokens (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash bytea NOT NULL UNIQUE,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('api', 'link', 'session')),
  role text COLLATE "C" NOT NULL CHECK (role IN ('support', 'compliance', 'admin')),
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  used_at timestamptz,
  revoked_at timestamptz
);

-- Written by views/.
CREATE TABLE access_log (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now(),
  token integer,
  name text NOT NULL,
  role text COLLATE "C" NOT NULL,
  action text COLLATE "C" NOT NULL,
  subject text
);

-- Views insert (a person orders it); the ledger replays and deletes.
CREATE TABLE replay_orders (
  quarantine bigint PRIMARY KEY,
  ordered_at timestamptz NOT NULL DEFAULT now()
);

-- Written by alerts/. At most one open alert of a kind and source.
CREATE TABLE alerts (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL DEFAULT '',
  count bigint NOT NULL,
  since timestamptz NOT NULL,
  opened_at timestamptz NOT NULL DEFAULT now(),
  seen_at timestamptz NOT NULL DEFAULT now(),
  resolved_at timestamptz
);
CREATE UNIQUE INDEX alerts_open ON alerts (kind, source) WHERE resolved_at IS NULL;

-- Views insert (a person has seen it); alerts/ deletes with the alert's end.
CREATE TABLE alert_acknowledgements (
  alert bigint PRIMARY KEY,
  name text NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
);
