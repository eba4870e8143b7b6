import type { Connection, Pool } from "../src/postgres/pool.ts";
import { waitingFor } from "../src/simulator/interference.ts";

/**
 * Waits until somebody waits for a lock of this connection. Looks over another one, since a transaction goes on seeing the
 * connections that it saw first.
 *
 * @returns the server processes that wait.
 */
export async function untilBlockedBy(pool: Pool, holder: Connection): Promise<number[]> {
  for (;;) {
    const processes = await waitingFor(pool, holder);
    if (processes.length > 0) return processes;
  }
}

/** Ends the connections that wait for a lock of this one, once there are any. */
export async function endBlockedBy(pool: Pool, holder: Connection): Promise<void> {
  const processes = await untilBlockedBy(pool, holder);
  await pool.query("SELECT pg_terminate_backend(pid) FROM unnest($1::integer[]) AS pid", [processes]);
}
