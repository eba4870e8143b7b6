/**
 * A service that starts the embedded PostgreSQL on the data directory it is given, says its address and stays: for tests that kill
 * it, or run it as another user. SIGTERM stops it in order; SIGHUP makes it exit without a stop, as a bug would.
 * With `--lock-only` it takes no more than the data directory's lock.
 */
import { parseArgs } from "node:util";
import { createLog } from "../src/log.ts";
import { lockDataDir } from "../src/postgres/data-dir-lock.ts";
import { startEmbeddedPostgres } from "../src/postgres/embedded.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { "lock-only": { type: "boolean", default: false } },
});
const dataDir = positionals[0] ?? "";

if (values["lock-only"]) {
  await lockDataDir(dataDir);
  process.stdout.write("locked\n");
  setInterval(() => undefined, 60_000);
} else {
  const server = await startEmbeddedPostgres({ dataDir, log: createLog("warn"), durable: false });
  process.once("SIGTERM", () => void server.stop());
  process.once("SIGHUP", () => process.exit(1));
  process.stdout.write(`${server.databaseUrl}\n`);
}
