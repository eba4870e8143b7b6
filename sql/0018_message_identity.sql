-- One message for each id, in an index of half the size: the first 12 characters of the id, which nearly always tell two mails
-- apart and find an id by its beginning, and a hash of all of it. 35 bytes an event become 16 with simulated mail. Two equal ids are
-- equal in both, so the second is refused. Should two ids ever begin alike and have one hash (of 64 bits), the second
-- is refused too, and its receipt stays in the inbox with an alert. Conditions that use it: src/message-id.ts.
CREATE UNIQUE INDEX messages_identity ON messages (left(message_id, 12), hashtextextended(message_id, 0));
DROP INDEX messages_message_id;
