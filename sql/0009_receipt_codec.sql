-- Bodies are compressed before they reach PostgreSQL: its own pglz is slow and at 2 kB does not begin, and lz4 is not in
-- every build. How: src/receipt-body.ts.

-- 0: as it came. 1: zstd with the first dictionary. 2: with the second. bytes: the length as it came; NULL where that is the column's own.
ALTER TABLE receipts ADD COLUMN codec smallint NOT NULL DEFAULT 0;
ALTER TABLE receipts ADD COLUMN bytes integer;
ALTER TABLE receipts ADD CHECK ((codec = 0) = (bytes IS NULL));
-- What is compressed is not tried again; partitions take this over when they are made.
ALTER TABLE receipts ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER TABLE receipts_default ALTER COLUMN body SET STORAGE EXTERNAL;
