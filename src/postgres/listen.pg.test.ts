import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { createLog } from "../log.ts";
import { listen } from "./listen.ts";

const CHANNEL = "Test Channel";
const patient = { timeout: 50_000 };

describe("listen", () => {
  let db: TestDatabase;

  beforeAll(async () => {
    db = await testDatabase();
  });

  afterAll(async () => {
    await db.drop();
  });

  async function notify(payload: string): Promise<void> {
    await db.pool.query("SELECT pg_notify($1, $2)", [CHANNEL, payload]);
  }

  it("hears its channel, and again after its connection was cut", async () => {
    const payloads: string[] = [];
    const onConnect = vi.fn<() => void>();
    const listener = listen({
      databaseUrl: db.databaseUrl,
      channel: CHANNEL,
      log: createLog("silent"),
      onNotification: (payload) => payloads.push(payload),
      onConnect,
    });
    try {
      await expect.poll(() => onConnect.mock.calls.length, patient).toBe(1);
      await notify("first");
      await expect.poll(() => payloads, patient).toEqual(["first"]);

      const { rowCount } = await db.pool.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1",
        [`holdfast listen ${CHANNEL}`],
      );
      expect(rowCount).toBe(1);
      await expect.poll(() => onConnect.mock.calls.length, patient).toBe(2);
      await notify("second");
      await expect.poll(() => payloads, patient).toEqual(["first", "second"]);
    } finally {
      await listener.stop();
    }
  });

  it("can be stopped before it is connected, and leaves no connection behind", async () => {
    const onConnect = vi.fn<() => void>();
    const listener = listen({
      databaseUrl: db.databaseUrl,
      channel: CHANNEL,
      log: createLog("silent"),
      onNotification: () => undefined,
      onConnect,
    });
    await listener.stop();
    // That no connection is left is checked when the database is dropped.
    expect(onConnect).not.toHaveBeenCalled();
  });

  it("keeps trying while there is no server", async () => {
    const log = createLog("silent");
    const warn = vi.spyOn(log, "warn");
    const listener = listen({
      databaseUrl: "postgres://nobody@127.0.0.1:1/none",
      channel: CHANNEL,
      log,
      onNotification: () => undefined,
    });
    await expect.poll(() => warn.mock.calls.length, patient).toBeGreaterThan(1);
    await listener.stop();
  });
});
