-- The course of the last minutes, day and month, for a person to look at; nothing is computed from it.

-- Written by ledger/. Events filed, by the time of filing, in buckets of three sizes (`step`, in seconds); the projecting
-- transaction adds to one bucket of each. Kinds are columns, so that a batch changes three rows of a source and no more.
-- engaged: opens and clicks. failed: bounces, blocks and drops. objected: complaints and unsubscribes.
-- Rows are removed when they are older than what is shown of their size.
CREATE TABLE rates (
  step integer NOT NULL,
  at timestamptz NOT NULL,
  source smallint NOT NULL,
  processed integer NOT NULL,
  deferred integer NOT NULL,
  delivered integer NOT NULL,
  failed integer NOT NULL,
  engaged integer NOT NULL,
  objected integer NOT NULL,
  other integer NOT NULL,
  retries integer NOT NULL,
  PRIMARY KEY (step, at, source)
) WITH (fillfactor = 50);
