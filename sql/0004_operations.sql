-- What operations and alerts need to know of the running processes.

-- Written by health/. One row per running process, refreshed every few seconds; a row that is not is a process that ended.
CREATE TABLE instances (
  id text COLLATE "C" PRIMARY KEY,
  host text NOT NULL,
  pid integer NOT NULL,
  version text NOT NULL,
  roles text[] NOT NULL,
  started_at timestamptz NOT NULL DEFAULT now(),
  seen_at timestamptz NOT NULL DEFAULT now(),
  -- Names of server settings that break promise P1 (unsafe) or weaken what stands around it (weak).
  unsafe text[] NOT NULL DEFAULT '{}',
  weak text[] NOT NULL DEFAULT '{}',
  clock_skew_ms integer NOT NULL DEFAULT 0,
  disk_free_bytes bigint,
  disk_low boolean NOT NULL DEFAULT false,
  spool_posts integer NOT NULL DEFAULT 0,
  spool_bytes bigint NOT NULL DEFAULT 0,
  spool_oldest_event_at timestamptz
);

-- Written by intake/. POSTs that were refused, per hour of arrival. source is as it stood in the path when it is a
-- configured one, else empty, so that nobody can fill the table with names.
CREATE TABLE refusals (
  hour timestamptz NOT NULL,
  source text COLLATE "C" NOT NULL,
  code text COLLATE "C" NOT NULL,
  count bigint NOT NULL,
  first_at timestamptz NOT NULL,
  last_at timestamptz NOT NULL,
  PRIMARY KEY (hour, source, code)
);
