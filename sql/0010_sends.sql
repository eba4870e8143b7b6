-- The sent register: what an application says it has handed to SendGrid, so that a send with no event at all can be seen.

-- Views (and holdfast sends) insert; reconcile alone changes the last two columns. message_id: the X-Message-Id that SendGrid
-- answered with, which is the part of its events' sg_message_id before the first dot. recipient: where it was one alone.
-- seen_at: when as many messages as recipients were found to have events. next_look_at: when it is next looked for them.
CREATE TABLE sends (
  sent_at timestamptz NOT NULL,
  registered_at timestamptz NOT NULL DEFAULT now(),
  seen_at timestamptz,
  next_look_at timestamptz NOT NULL,
  recipients integer NOT NULL DEFAULT 1 CHECK (recipients > 0),
  source smallint NOT NULL,
  message_id text COLLATE "C" PRIMARY KEY,
  recipient text,
  name text NOT NULL,
  args jsonb NOT NULL DEFAULT '{}'
) WITH (fillfactor = 90);
CREATE INDEX sends_unseen ON sends (next_look_at) WHERE seen_at IS NULL;
