import type { Fault } from "../fault.ts";
import { madeUpEvents } from "../posts.ts";

const MESSAGES = 250;
const TYPES = ["processed", "delivered", "open", "click"];
const TIMES = 46;
const EVENTS = MESSAGES * TYPES.length;

/** The same 1,000 events sent 46 times by all services at once. */
export const redeliveryStorm: Fault = {
  name: "redelivery-storm",
  description: `the same ${EVENTS} events ${TIMES} times over, through all services at once`,
  worlds: ["shared"],
  holdSeconds: [1, 2],
  strike({ world, load, posts, random }) {
    const name = `storm${random.between(0, 999_999)}`;
    const events = Array.from({ length: MESSAGES }, (_message, n) =>
      madeUpEvents(random, `${name}-${n}`, TYPES),
    ).flat();
    let storm: Promise<unknown> = Promise.resolve();
    return {
      async inject() {
        const post = posts.make(events);
        storm = Promise.all(
          Array.from({ length: TIMES }, (_time, n) =>
            load.send(post, { process: 2_000 + n, target: n % world.instances.length }),
          ),
        );
      },
      async heal() {
        await storm;
      },
      hit: `${TIMES} times`,
    };
  },
};
