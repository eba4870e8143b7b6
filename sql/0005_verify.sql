-- What `holdfast verify` and `holdfast replay` need: the events of a range of receipts, without reading all events.
-- Events lie on disk about in the order of their receipts, so a summary of each block range finds them. It adds about 2 %
-- to an insert of events, where a B-tree adds 12 %, and 1 KB to 1 MB of them. Several values per range, since two
-- instances number their receipts from different blocks.
CREATE INDEX events_receipt ON events USING brin (receipt int8_minmax_multi_ops)
  WITH (pages_per_range = 32, autosummarize = on);
