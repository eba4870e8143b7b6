-- What this ledger's receipts have in common, learnt from them: a body of one event becomes 176 bytes instead of 252. receipts.codec is
-- minus the number of the dictionary that its body is packed with. Written by intake/; a row is never changed and never deleted, or
-- its bodies could not be read. With another dictionary zstd would make other bytes without a word, so one that does not have its
-- hash any more is not used.
CREATE TABLE receipt_dictionaries (
  number smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  learnt_at timestamptz NOT NULL DEFAULT now(),
  sha256 bytea NOT NULL,
  dictionary bytea NOT NULL
);
