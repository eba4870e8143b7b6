// What a tutorial tells a Node developer: Express, the official @sendgrid/eventwebhook, one INSERT for each event, and a
// queue for the enrichment. In its favour: a process for each core, a pool of connections, and the queue is a table of the
// same PostgreSQL, filled by the same statement, which needs neither a broker nor a second round trip.
import cluster from "node:cluster";
import { availableParallelism } from "node:os";
import { EventWebhook } from "@sendgrid/eventwebhook";
import express from "express";
import pg from "pg";

const { DATABASE_URL, PUBLIC_KEY } = process.env;
const POLL_MS = 1000;
const JOBS_AT_ONCE = 10;

const SCHEMA = `
  CREATE TABLE events (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id text NOT NULL UNIQUE,
    message_id text,
    event text NOT NULL,
    email text,
    occurred_at timestamptz NOT NULL,
    payload jsonb NOT NULL,
    enriched_at timestamptz
  );
  CREATE INDEX ON events (message_id);
  CREATE INDEX ON events (email);
  CREATE TABLE jobs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, event bigint NOT NULL)`;

const INSERT = {
  name: "insert event",
  text: `WITH added AS (
      INSERT INTO events (event_id, message_id, event, email, occurred_at, payload)
      VALUES ($1, $2, $3, $4, to_timestamp($5), $6) ON CONFLICT (event_id) DO NOTHING RETURNING id
    ) INSERT INTO jobs (event) SELECT id FROM added`,
};

const WORK = {
  name: "work",
  text: `WITH taken AS (
      DELETE FROM jobs WHERE id IN (SELECT id FROM jobs ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED) RETURNING event
    ) UPDATE events SET enriched_at = now() FROM taken WHERE events.id = taken.event`,
};

if (cluster.isPrimary) await startPrimary();
else startWorker();

async function startPrimary() {
  const client = new pg.Client({ connectionString: DATABASE_URL });
  await client.connect();
  await client.query(SCHEMA);
  await client.end();
  let listening = 0;
  cluster.on("listening", (_worker, { port }) => {
    listening += 1;
    if (listening === availableParallelism()) console.log(`the peer listens on port ${port}`);
  });
  for (let core = 0; core < availableParallelism(); core += 1) cluster.fork();
  process.on("SIGTERM", () => process.exit(0));
}

function startWorker() {
  const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 10 });
  const webhook = new EventWebhook();
  const key = webhook.convertPublicKeyToECDSA(PUBLIC_KEY);
  const app = express();
  app.post("/webhooks/sendgrid", express.raw({ type: "application/json", limit: "5mb" }), async (request, response) => {
    const signature = request.get("X-Twilio-Email-Event-Webhook-Signature");
    const timestamp = request.get("X-Twilio-Email-Event-Webhook-Timestamp");
    if (!webhook.verifySignature(key, request.body, signature, timestamp)) {
      response.sendStatus(401);
      return;
    }
    for (const event of JSON.parse(request.body.toString())) {
      const { sg_event_id: id, sg_message_id: message, event: type, email, timestamp: at } = event;
      await pool.query({ ...INSERT, values: [id, message, type, email, at, JSON.stringify(event)] });
    }
    response.sendStatus(200);
  });
  app.listen(0, "127.0.0.1");
  void work(pool);
}

// The enrichment asks nobody, as if SendGrid answered at once.
async function work(pool) {
  for (;;) {
    const { rowCount } = await pool.query({ ...WORK, values: [JOBS_AT_ONCE] });
    if (rowCount === 0) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
