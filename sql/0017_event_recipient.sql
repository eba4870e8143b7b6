-- Nearly every event is about its message's own recipient, and need not say so again: its row has '' then, which is no address.
-- With simulated mail that is 42 bytes an event. Older rows stay as they are. Events without a message of their own always say
-- their recipient.
--
-- Invariant: whatever becomes of a message's recipient, and whoever changes it, its events say what they said.
-- Test: event-recipient.pg.test.ts.
CREATE FUNCTION keep_event_recipients() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE events SET recipient = OLD.recipient WHERE message = OLD.id AND recipient = '';
  RETURN NULL;
END
$$;
CREATE TRIGGER messages_recipient_changed AFTER UPDATE OF recipient ON messages
  FOR EACH ROW WHEN (OLD.recipient IS NOT NULL AND OLD.recipient IS DISTINCT FROM NEW.recipient)
  EXECUTE FUNCTION keep_event_recipients();

-- own_recipient: as the row has it, for whoever looks up by the index events without a message of their own.
CREATE OR REPLACE VIEW whole_events AS
SELECT e.message, e.occurred_at, e.receipt, e.ordinal, e.origin, e.source, e.twin, e.nameless, e.event_id, e.type,
  CASE WHEN e.recipient = '' THEN (SELECT m.recipient FROM messages AS m WHERE m.id = e.message) ELSE e.recipient END AS recipient,
  CASE WHEN e.mailing_part IS NULL AND e.channel_part IS NULL THEN e.detail
    ELSE coalesce(mailing.part, '{}') || coalesce(channel.part - 'smtp-host', '{}')
      || CASE WHEN channel.part ? 'smtp-host' THEN jsonb_build_object('smtp-id', (
          SELECT '<' || split_part(m.message_id, '.', 1) || '@' || (channel.part ->> 'smtp-host') || '>'
          FROM messages AS m WHERE m.id = e.message))
        ELSE '{}' END || e.detail
  END AS detail,
  e.recipient AS own_recipient
FROM events AS e
LEFT JOIN detail_parts AS mailing ON mailing.id = e.mailing_part
LEFT JOIN detail_parts AS channel ON channel.id = e.channel_part;
