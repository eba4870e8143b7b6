import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { environmentOf } from "../src/config.ts";
import { readBalance, type BalanceRow } from "../src/ledger/read-balance.ts";
import { createLog } from "../src/log.ts";
import { createPool } from "../src/postgres/pool.ts";
import { checkSetFull, checkStaleness, type SetFull, type Staleness } from "./checker.ts";
import type { History } from "./history.ts";
import { readLedger, readReceipts } from "./ledger-reads.ts";
import type { Load } from "./load.ts";
import type { PostSource } from "./posts.ts";
import { READ_POLL_MS } from "./reader.ts";
import { ROOT, type World } from "./world.ts";

export interface Verdict {
  /** Empty: nothing is wrong. */
  problems: string[];
  setFull: SetFull;
  staleness: Staleness;
  balance: BalanceRow;
  events: number;
  messages: number;
  receipts: number;
}

export interface CheckOptions {
  world: World;
  posts: PostSource;
  load: Pick<Load, "acknowledged" | "forgedAccepted">;
  history: History;
  visibleAtMs: ReadonlyMap<number, number>;
  /** False where a fault keeps even the spool from keeping, as a full disk does. */
  isSpoolPromised?: boolean;
  /** False: leaves out the service's own `verify`, which is a process of its own. */
  isVerified?: boolean;
}

const EXAMPLES_MAX = 5;

/** Checks a world at rest: every event by set-full, every receipt, the balance, each message's state, each enrichment. */
export async function checkWorld(options: CheckOptions): Promise<Verdict> {
  const { world, posts, load, history, visibleAtMs, isSpoolPromised = true, isVerified = true } = options;
  const ledger = await readLedger(world);
  const receipts = await readReceipts(world);
  const balance = await balanceOf(world);
  const setFull = checkSetFull(posts, history.operations, ledger.found);
  const problems: string[] = [];
  const note = (count: number, what: string, examples: readonly string[] = []): void => {
    if (count === 0) return;
    problems.push([`${count} ${what}`, ...examples.slice(0, EXAMPLES_MAX)].join("\n    "));
  };
  note(setFull.lost.length, "events lost: acknowledged, and not there", setFull.lost);
  if (isSpoolPromised) {
    note(setFull.unkept.length, "events refused as unavailable, and not kept in the spool", setFull.unkept);
  }
  note(setFull.double.length, "events double", setFull.double);
  note(setFull.phantom.length, "events that nobody sent", setFull.phantom);
  note(ledger.wrongStates.count, "messages in another state than their events give", ledger.wrongStates.examples);
  note(
    receipts.wrongWords.count,
    "messages with other args or categories than were sent",
    receipts.wrongWords.examples,
  );
  note(load.forgedAccepted, "forged POSTs accepted");
  for (const problem of checkReceipts(load, receipts.sha256)) note(1, problem);
  for (const problem of await checkQuarantine(world, load)) note(1, problem);
  for (const problem of await checkBalance(world, balance, { ...receipts, events: ledger.events })) note(1, problem);
  for (const problem of await checkRows(world)) note(1, problem);
  if (isVerified) for (const problem of await runVerify(world)) note(1, problem);
  for (const { crashes } of world.instances) note(crashes.length, "services ended by themselves", crashes);
  const staleness = checkStaleness(history.operations, visibleAtMs, READ_POLL_MS);
  const { events, messages } = ledger;
  return { problems, setFull, staleness, balance, events, messages, receipts: receipts.receipts };
}

async function balanceOf(world: World): Promise<BalanceRow> {
  const pool = createPool({ databaseUrl: world.databaseUrl, log: createLog("silent"), connectionsMax: 1 });
  try {
    const sources = await pool.query<{ id: number }>("SELECT id FROM sources");
    return await readBalance(pool, { sources: sources.rows.map(({ id }) => id) });
  } finally {
    await pool.end();
  }
}

/** Promise P1 itself: what a 2xx named is there, byte for byte. */
function checkReceipts(load: CheckOptions["load"], sha256: ReadonlyMap<string, string>): string[] {
  let missing = 0;
  let different = 0;
  for (const { receipt, sha256: sent } of load.acknowledged) {
    const found = sha256.get(receipt);
    if (found === undefined) missing += 1;
    else if (found !== sent) different += 1;
  }
  return [
    ...(missing > 0 ? [`receipts missing: ${missing} of those that a 2xx named`] : []),
    ...(different > 0 ? [`receipts changed: ${different} of those that a 2xx named`] : []),
  ];
}

async function checkQuarantine(world: World, load: CheckOptions["load"]): Promise<string[]> {
  const expected = new Map(
    load.acknowledged.filter(({ broken }) => broken > 0).map(({ receipt, broken }) => [receipt, broken]),
  );
  const rows = await world.ask<{ receipt: number; items: number }>(
    "SELECT receipt, count(*) AS items FROM quarantine WHERE receipt = ANY ($1::bigint[]) GROUP BY receipt",
    [[...expected.keys()]],
  );
  const found = new Map(rows.map(({ receipt, items }) => [String(receipt), items]));
  const wrong = [...expected].filter(([receipt, items]) => found.get(receipt) !== items);
  return wrong.length === 0
    ? []
    : [`receipts with another number of quarantined items than broken ones: ${wrong.length}`];
}

async function checkBalance(
  world: World,
  balance: BalanceRow,
  counted: { receipts: number; items: number; events: number },
): Promise<string[]> {
  const [quarantine] = await world.ask<{ rows: number }>("SELECT count(*) AS rows FROM quarantine");
  const { receipts, events } = balance;
  const pairs: [what: string, is: number, should: number][] = [
    ["events.lost", events.lost, 0],
    ["receipts.pending", receipts.pending, 0],
    ["receipts.accepted against the rows of receipts", receipts.accepted, counted.receipts],
    ["events.accepted against the items in the receipts' bytes", events.accepted, counted.items],
    ["events.stored against the rows of events", events.stored, counted.events],
    ["events.quarantined against the rows of quarantine", events.quarantined, quarantine?.rows ?? 0],
  ];
  return pairs
    .filter(([, is, should]) => is !== should)
    .map(([what, is, should]) => `balance: ${what}: ${is}, not ${should}`);
}

async function checkRows(world: World): Promise<string[]> {
  const [counts] = await world.ask<Record<"forgotten" | "orphans" | "double" | "inbox", number>>(
    `SELECT
       (SELECT count(*) FROM messages AS m WHERE m.message_id IS NOT NULL
          AND NOT EXISTS (SELECT FROM enrichments AS e WHERE e.message = m.id)) AS forgotten,
       (SELECT count(*) FROM events AS e WHERE NOT EXISTS (SELECT FROM messages AS m WHERE m.id = e.message)) AS orphans,
       (SELECT count(*) - count(DISTINCT message_id) FROM messages WHERE message_id IS NOT NULL) AS double,
       (SELECT count(*) FROM inbox) AS inbox`,
  );
  if (counts === undefined) return ["the ledger does not answer"];
  return [
    ...(counts.forgotten > 0 ? [`enrichments forgotten: ${counts.forgotten} messages have none`] : []),
    ...(counts.orphans > 0 ? [`events without their message: ${counts.orphans}`] : []),
    ...(counts.double > 0 ? [`messages double: ${counts.double}`] : []),
    ...(counts.inbox > 0 ? [`receipts accepted and never filed: ${counts.inbox}`] : []),
  ];
}

/** The service's own check, where this checkout has it. */
async function runVerify(world: World): Promise<string[]> {
  if (!existsSync(join(ROOT, "src/commands/verify.ts"))) return [];
  const env = environmentOf({ DATABASE_URL: world.databaseUrl, HOLDFAST_DATA_DIR: world.dataDir });
  return new Promise((resolve) => {
    execFile(process.execPath, [join(ROOT, "src/cli.ts"), "verify", "--json"], { env }, (error, stdout, stderr) => {
      const isThere = error === null || !stderr.includes("unknown command");
      resolve(
        error === null || !isThere ? [] : [`holdfast verify is not clean: ${`${stdout}${stderr}`.slice(0, 600)}`],
      );
    });
  });
}
