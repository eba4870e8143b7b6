import { createLog } from "../../src/log.ts";
import { createPool, type Pool } from "../../src/postgres/pool.ts";
import { itemOf, type PageWorld } from "./page-world.ts";

/** The made-up shop that the pictures show, and of which a test asks what people ask. */

/** Who calls: their password reset did not arrive, the invoice of their order 4711 did. */
export const CUSTOMER = "purchasing@example.com";

const PERSON = {
  useragent:
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
  ip: "192.0.2.44",
};

/** The life of one invoice: delayed once, opened by a program and by a person. @returns the message's id */
export async function postInvoice(world: PageWorld): Promise<string> {
  const startSeconds = Math.floor(Date.now() / 1000) - 45 * 60;
  const known = {
    email: CUSTOMER,
    order_id: "4711",
    mail_kind: "invoice",
    category: ["invoice", "b2b"],
    sg_template_name: "invoice-de v12",
  };
  const at = (seconds: number, event: string, more: object = {}) =>
    itemOf("thtIPCIJS0e8MYBU0zQ7mQ", event, { timestamp: startSeconds + seconds, ...known, ...more });
  const opened = at(366, "open", PERSON);
  await world.post([at(0, "processed", { pool: { id: 210, name: "transactional" } })]);
  await world.post([at(2, "deferred", { attempt: "0", response: "451 4.3.2 Please try again later" })]);
  await world.post([at(34, "delivered", { response: "250 2.0.0 OK 1764511361 af79cd13be357 - gsmtp", tls: 1 })]);
  await world.post([at(37, "open", { sg_machine_open: true, useragent: "Mozilla/5.0" }), opened]);
  await world.postAgain([{ ...opened, sg_event_id: "RWluIFp3aWxsaW5nIGRhdm9u" }]);
  await world.post([at(374, "click", { ...PERSON, url: "https://shop.example/invoices/2026-11873" })]);
  return String(opened["sg_message_id"]);
}

/** What the customer's server says to the password reset. */
export const RESET_REFUSAL =
  "552 5.2.2 The recipient's inbox is out of storage space. Please direct them to https://mail.example/quota";

/** The life of one password reset: refused, since the mailbox is full. @returns the message's id */
export async function postReset(world: PageWorld): Promise<string> {
  const startSeconds = Math.floor(Date.now() / 1000) - 12 * 60;
  const known = { email: CUSTOMER, mail_kind: "password_reset", category: ["password_reset"] };
  const at = (seconds: number, event: string, more: object = {}) =>
    itemOf("Yk3pXw5mQ2mT8rVd0sLzHg", event, { timestamp: startSeconds + seconds, ...known, ...more });
  const refused = at(3, "bounce", { type: "bounce", status: "5.2.2", reason: RESET_REFUSAL });
  await world.post([at(0, "processed", { pool: { id: 210, name: "transactional" } }), refused]);
  return String(refused["sg_message_id"]);
}

/**
 * Two hours of a campaign, up to now: the first half of it, so that the newest events are of every kind. Each POST is filed
 * before the next one comes, as in life, so that the mails stand in the order in which they were sent.
 */
export async function postCampaign(world: PageWorld, events: number): Promise<void> {
  const now = Math.floor(Date.now() / 1000);
  const periodSeconds = 2 * 60 * 60;
  const traffic = { seed: "screenshots", events, twins: true, missingIds: true, poison: false };
  const options = { ...traffic, startSeconds: now - periodSeconds, periodSeconds: 2 * periodSeconds };
  await withPool(world, async (pool) => {
    const isFiled = async (): Promise<void> => {
      const { rows } = await pool.query<{ waits: boolean }>("SELECT EXISTS (SELECT FROM inbox) AS waits");
      if (rows[0]?.waits === true) await isFiled();
    };
    await world.postTraffic(options, now, isFiled);
  });
}

async function withPool(world: PageWorld, work: (pool: Pool) => Promise<void>): Promise<void> {
  const { databaseUrl } = world.service;
  if (databaseUrl === undefined) throw new Error("the service does not say where its database is");
  const pool = createPool({ databaseUrl, log: createLog("warn"), connectionsMax: 1, name: "seed" });
  try {
    await work(pool);
  } finally {
    await pool.end();
  }
}

const STEP_SECONDS = 10;
const KINDS = ["processed", "deferred", "delivered", "failed", "engaged", "objected", "other", "retries"] as const;
/** Buckets of a quarter of an hour. */
const BUCKETS = 89;

/** Two waves of sending, the larger one lately, and some unrest. Opens come a little later than what they answer. */
function weight(kind: (typeof KINDS)[number], bucketsAgo: number): number {
  const at = bucketsAgo + (kind === "engaged" ? 5 : 0);
  const wave = (centre: number, width: number): number => Math.exp(-(((at - centre) / width) ** 2));
  const unrest = Math.abs(Math.sin(at * 12.9898 + KINDS.indexOf(kind)) * 43_758.5453) % 1;
  return 0.35 + 1.9 * wave(24, 9) + 0.8 * wave(64, 10) + 0.18 * unrest;
}

/**
 * Spreads what was filed within seconds over the last quarter of an hour, as if it had been posted when it happened: only in
 * the chart's finest buckets, whose sum stays about the same.
 */
export async function spreadRates(world: PageWorld): Promise<void> {
  await withPool(world, async (pool) => {
    const sums = KINDS.map((kind) => `sum(${kind}) AS ${kind}`).join(", ");
    const filed = await pool.query<Record<string, number>>(
      `SELECT source, ${sums} FROM rates WHERE step = $1 GROUP BY source ORDER BY sum(processed) DESC LIMIT 1`,
      [STEP_SECONDS],
    );
    const [sum] = filed.rows;
    if (sum === undefined) throw new Error("nothing was filed");
    await pool.query("DELETE FROM rates WHERE step = $1", [STEP_SECONDS]);
    // From the last bucket that has ended, into the past.
    const agos = Array.from({ length: BUCKETS }, (_, index) => index + 1);
    const counts = KINDS.map((kind) => {
      const weights = agos.map((ago) => weight(kind, ago));
      const all = weights.reduce((total, each) => total + each, 0);
      return weights.map((each) => Math.round(((sum[kind] ?? 0) * each) / all));
    });
    await pool.query(
      `INSERT INTO rates (step, at, source, ${KINDS.join(", ")})
       SELECT $1::integer, date_bin(make_interval(secs => $1::integer), now(), 'epoch') - ago * make_interval(secs => $1::integer),
         $2::smallint, ${KINDS.join(", ")}
       FROM unnest($3::integer[], ${KINDS.map((_kind, place) => `$${place + 4}::integer[]`).join(", ")}) AS spread (ago, ${KINDS.join(", ")})`,
      [STEP_SECONDS, sum["source"], agos, ...counts],
    );
  });
}
