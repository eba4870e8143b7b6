import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { reconcileWorld, type Happening, type ReconcileWorld } from "../../test/reconcile-world.ts";
import { REGISTER_SENDS_MAX } from "../limits.ts";
import { registerSends, type Send } from "../views/register-sends.ts";
import { createReconciler, type Reconciler } from "./schedule.ts";

const SENT = "2026-03-09T12:00:00Z";
const AN_HOUR_LATER = "2026-03-09T13:00:00Z";

interface GapRow {
  message_id: string;
  state: string;
  evidence: Record<string, unknown>;
}

describe("the sent register", () => {
  let world: ReconcileWorld;
  let reconciler: Reconciler;

  beforeAll(async () => {
    world = await reconcileWorld();
  });

  beforeEach(async () => {
    world.setNow(SENT);
    await world.reset();
    await world.deliver([]);
    // Without a key and at no night: it asks nobody.
    reconciler = createReconciler({ ...world.options(), nightly: "off", isKeySet: false });
  });

  afterAll(async () => {
    await reconciler.stop();
    await world.end();
  });

  async function register(...sends: readonly (string | Send)[]): Promise<void> {
    const given = sends.map((send): Send =>
      Object.assign({ at: new Date(SENT) }, typeof send === "string" ? { messageId: send } : send),
    );
    const { outcome } = await registerSends(world.db.pool, { source: "default", name: "shop" }, given);
    expect(outcome).toBe("registered");
  }

  function processed(messageId: string): Happening {
    const wire = {
      email: "ann@example.com",
      sg_message_id: messageId,
      event: "processed",
      timestamp: Date.parse(SENT) / 1000 + 1,
      sg_event_id: Buffer.from(`processed-${messageId}-${"x".repeat(12)}`).toString("base64url"),
    };
    return { wire, truth: wire };
  }

  async function gaps(state = "open"): Promise<GapRow[]> {
    return world.rows<GapRow>(
      "SELECT message_id, state, evidence FROM gaps WHERE rule = 'register' AND state = $1 ORDER BY message_id",
      [state],
    );
  }

  async function lookAt(time: string): Promise<void> {
    world.setNow(time);
    await reconciler.tick();
  }

  it("opens a gap an hour after a send without an event, not earlier, and closes it when the event arrives", async () => {
    await register({ messageId: "lost", recipients: ["ann@example.com"], args: { order: "4711" } });
    await lookAt("2026-03-09T12:59:59Z");
    expect(await gaps()).toEqual([]);
    await lookAt(AN_HOUR_LATER);
    const evidence = { recipients: 1, messages: 0, registeredBy: "shop", args: { order: "4711" } };
    expect(await gaps()).toEqual([{ message_id: "lost", state: "open", evidence }]);
    expect(await world.rows("SELECT kind, confidence, day::text, account, recipient, occurred_at FROM gaps")).toEqual([
      {
        kind: "processed",
        confidence: "suspected",
        day: "2026-03-09",
        account: "",
        recipient: "ann@example.com",
        occurred_at: new Date(SENT),
      },
    ]);
    await world.deliver([processed("lost.recvd-1.0")]);
    await lookAt("2026-03-09T13:01:00Z");
    expect(await gaps()).toEqual([]);
    expect(await gaps("arrived")).toMatchObject([{ message_id: "lost" }]);
    expect(await world.rows("SELECT m.message_id FROM gaps AS g JOIN messages AS m ON m.id = g.message")).toEqual([
      { message_id: "lost.recvd-1.0" },
    ]);
  });

  it("suspects nothing of sends whose events came, before they were registered or after, whatever ids are like theirs", async () => {
    await world.deliver([processed("early.recvd-1.0")]);
    await register("early", "late", "lon", "long");
    await world.deliver([
      processed("late.filter-1.0"),
      processed("long.recvd-1.0"),
      processed("lon-ger.recvd-1.0"),
      processed("lo.n"),
    ]);
    await lookAt(AN_HOUR_LATER);
    expect((await gaps()).map(({ message_id }) => message_id)).toEqual(["lon"]);
    expect(await world.rows("SELECT message_id FROM sends WHERE seen_at IS NULL")).toEqual([{ message_id: "lon" }]);
  });

  it("suspects a send of which fewer messages than recipients have an event", async () => {
    await register({ messageId: "three", recipients: 3 }, { messageId: "two", recipients: 2 });
    await world.deliver([
      processed("three.recvd-1.0"),
      processed("three.recvd-1.1"),
      processed("two.recvd-1.0"),
      processed("two.recvd-1.1"),
    ]);
    await lookAt(AN_HOUR_LATER);
    expect(await gaps()).toMatchObject([{ message_id: "three", evidence: { recipients: 3, messages: 2 } }]);
    await world.deliver([processed("three.recvd-1.2")]);
    await lookAt("2026-03-09T13:01:00Z");
    expect((await gaps("arrived")).map(({ message_id }) => message_id)).toEqual(["three"]);
  });

  it("does not say that an event arrived which was filed from SendGrid's records", async () => {
    await register("repaired");
    await lookAt(AN_HOUR_LATER);
    await world.deliver([processed("repaired.recvd-1.0")]);
    await world.rows("UPDATE events SET origin = 'csv'");
    await lookAt("2026-03-09T13:01:00Z");
    expect([await gaps("arrived"), (await gaps("closed")).length]).toEqual([[], 1]);
  });

  it("suspects nothing while a receipt that may hold the event still waits in the inbox", async () => {
    await register("waiting");
    await world.rows("INSERT INTO inbox (receipt, received_at, bytes) VALUES (1, $1, 9)", ["2026-03-09T12:30:00Z"]);
    await lookAt(AN_HOUR_LATER);
    expect(await gaps()).toEqual([]);
    // What came later does not hold it up, and neither does what cannot be projected.
    await world.rows("UPDATE inbox SET received_at = $1", ["2026-03-09T13:00:30Z"]);
    await lookAt("2026-03-09T13:01:00Z");
    expect(await gaps()).toHaveLength(1);
  });

  it("looks ever more seldom for what does not come", async () => {
    await register("lost");
    const next = async (): Promise<unknown> =>
      (
        await world.rows<{ seconds: number }>(
          "SELECT extract(epoch FROM next_look_at - $1::timestamptz)::int AS seconds FROM sends",
          [world.now()],
        )
      )[0]?.seconds;
    await lookAt(AN_HOUR_LATER);
    expect(await next()).toBe(60);
    await lookAt("2026-03-19T12:00:00Z");
    expect(await next()).toBe((10 * 24 * 3600) / 100);
  });

  it("looks through more sends than one statement takes, once each by however many processes", async () => {
    const count = 2 * REGISTER_SENDS_MAX + 1;
    await register(...Array.from({ length: count }, (_, index) => `send-${index}`));
    world.setNow(AN_HOUR_LATER);
    const second = createReconciler({ ...world.options(), nightly: "off", isKeySet: false });
    await Promise.all([reconciler.tick(), second.tick()]);
    await second.stop();
    expect(await gaps()).toHaveLength(count);
  });

  it("counts in the result of its day, which a check makes anew whatever is due, and stays open over checks", async () => {
    await register("lost", "found");
    await lookAt(AN_HOUR_LATER);
    await world.deliver([processed("found.recvd-1.0")]);
    world.happen([processed("found.recvd-1.0")]);
    // The next look is due in a minute; the check looks now.
    await world.reconcile({ fromDay: "2026-03-09" });
    expect([(await gaps()).length, (await gaps("arrived")).length]).toEqual([1, 1]);
    const state = async (): Promise<unknown[]> => world.rows("SELECT state FROM reconciliations");
    expect(await state()).toEqual([{ state: "suspected" }]);
    await world.reconcile({ fromDay: "2026-03-09" });
    expect(await gaps()).toHaveLength(1);
    await world.deliver([processed("lost.recvd-1.0")]);
    world.happen([processed("lost.recvd-1.0")]);
    await world.reconcile({ fromDay: "2026-03-09" });
    expect([await gaps(), await state()]).toEqual([[], [{ state: "equal" }]]);
  });
});
