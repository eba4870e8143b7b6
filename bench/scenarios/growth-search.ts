import { request } from "undici";
import type { Bench } from "../context.ts";
import { percentile } from "../numbers.ts";
import type { Recorder } from "../recorder.ts";
import { serve } from "../subjects/holdfast.ts";

const SEARCHES = 200;
const WARM_UP = 20;

interface Picked {
  id: string;
  recipient: string;
  customer: string;
}

/** What a support team asks for, one request after the other, each for another message from anywhere in the ledger. */
export async function measureSearches(
  bench: Bench,
  recorder: Recorder,
  options: { database: string; subject: string; inCase: string },
): Promise<void> {
  const { database, subject, inCase } = options;
  const searches = bench.flags.quick ? 10 : SEARCHES;
  const picked = await pick(bench, database, searches + WARM_UP);
  const databaseUrl = bench.server.address(database);
  const service = await serve(bench, { name: "growth", databaseUrl, roles: "views" });
  const kinds: Record<string, (message: Picked) => string> = {
    "by recipient": ({ recipient }) => `/api/messages?recipient=${encodeURIComponent(recipient)}`,
    "by custom arg": ({ customer }) => `/api/messages?arg.customer_id=${encodeURIComponent(customer)}`,
    timeline: ({ id }) => `/api/messages/${encodeURIComponent(id)}`,
  };
  try {
    for (const [kind, path] of Object.entries(kinds)) {
      const times: number[] = [];
      let empty = 0;
      for (const [index, message] of picked.entries()) {
        const startMs = performance.now();
        const response = await request(`${service.apiUrl}${path(message)}`, {
          headers: { authorization: `Bearer ${service.token}` },
        });
        const text = await response.body.text();
        if (index >= WARM_UP) times.push(performance.now() - startMs);
        if (response.statusCode !== 200 || !text.includes(message.id)) empty += 1;
      }
      const figure = { subject, case: inCase, unit: "ms" };
      recorder.add({ ...figure, metric: `${kind} p50` }, percentile(times, 0.5));
      recorder.add({ ...figure, metric: `${kind} p99` }, percentile(times, 0.99));
      recorder.check(`growth, ${inCase}: a search ${kind} finds what it looks for`, empty === 0, `${empty} did not`);
    }
  } finally {
    await service.stop();
  }
}

async function pick(bench: Bench, database: string, count: number): Promise<Picked[]> {
  const rows = await bench.server.ask<Picked>(
    database,
    `SELECT m.message_id AS id, m.recipient, m.args->>'customer_id' AS customer
     FROM (SELECT DISTINCT (random() * (SELECT max(id) FROM messages))::bigint AS near FROM generate_series(1, $1 * 3)) AS r
     CROSS JOIN LATERAL (SELECT * FROM messages WHERE id >= near AND args ? 'customer_id' AND recipient IS NOT NULL ORDER BY id LIMIT 1) AS m
     ORDER BY random() LIMIT $1`,
    [count],
  );
  if (rows.length === 0) throw new Error("the ledger holds no message to look for");
  return rows;
}
