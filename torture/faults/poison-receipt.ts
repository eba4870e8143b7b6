import { setTimeout as delay } from "node:timers/promises";
import type { Fault } from "../fault.ts";
import { madeUpEvents } from "../posts.ts";

const NEIGHBOUR_MS_MAX = 20_000;
const POLL_MS = 100;

/** A receipt that makes the projector's transaction fail, every time: by a trigger that raises for one event of it. */
export const poisonReceipt: Fault = {
  name: "poison-receipt",
  description: "a receipt that makes every transaction fail that files it; the others must go on",
  worlds: ["embedded", "shared"],
  holdSeconds: [1, 6],
  strike({ world, load, posts, random }) {
    const name = `poison${random.between(0, 999_999)}`;
    const events = madeUpEvents(random, name, ["processed", "delivered"]);
    const neighbours = madeUpEvents(random, `${name}-beside`, ["processed", "delivered"]);
    const poisonId = String(events[1]?.["sg_event_id"]);
    const problems: string[] = [];
    return {
      async inject() {
        // Each is one statement, so that a try that failed half-way can be made again.
        await world.ask(`CREATE OR REPLACE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN IF NEW.event_id = '${poisonId}' THEN RAISE EXCEPTION 'poisoned'; END IF; RETURN NEW; END $$`);
        await world.ask(
          `CREATE OR REPLACE TRIGGER ${name} BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION ${name}()`,
        );
        await load.send(posts.make(events));
        await load.send(posts.make(neighbours));
        if (!(await isVisible(String(neighbours[0]?.["sg_message_id"])))) {
          problems.push(`the neighbour of a poisoned receipt was not filed within ${NEIGHBOUR_MS_MAX / 1000} s`);
        }
        const poisoned = await world.ask("SELECT 1 FROM events WHERE event_id = $1", [poisonId]);
        if (poisoned.length > 0) problems.push("the poisoned event was filed: the fault did not strike");
      },
      async heal() {
        await world.ask(`DROP TRIGGER IF EXISTS ${name} ON events`);
        await world.ask(`DROP FUNCTION IF EXISTS ${name}()`);
      },
      problems,
    };

    async function isVisible(messageId: string): Promise<boolean> {
      const deadlineMs = performance.now() + NEIGHBOUR_MS_MAX;
      while (performance.now() < deadlineMs) {
        const rows = await world.ask("SELECT 1 FROM messages WHERE message_id = $1", [messageId]);
        if (rows.length > 0) return true;
        await delay(POLL_MS);
      }
      return false;
    }
  },
};
