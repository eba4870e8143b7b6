-- A machine that believes in 1970 is further from the database's clock than 24 days, the most that an integer holds.
ALTER TABLE instances ALTER COLUMN clock_skew_ms TYPE bigint;
