-- New messages stand at the right edge of this index, and more of their events come later: with room left for these a page is
-- not cut in halves. 33 bytes an event instead of 50 (with 60: 38, with 85: 50).
ALTER INDEX events_identity SET (fillfactor = 75);
-- The list of what is not sorted in yet is read by every search, and may have 4 MB unless it is told otherwise.
ALTER INDEX messages_args SET (gin_pending_list_limit = 256);
ALTER INDEX messages_categories SET (gin_pending_list_limit = 256);
