-- What `holdfast verify` and `holdfast replay` need: the events of a range of receipts, without reading all events.
-- Events lie on disk about in the order of their receipts, so a summary of each block range finds them; it costs the
-- projector nothing measurable, where a B-tree would take its share of every insert. Several values per range, since
-- two instances number their receipts from different blocks.
CREATE INDEX events_receipt ON events USING brin (receipt int8_minmax_multi_ops)
  WITH (pages_per_range = 32, autosummarize = on);
