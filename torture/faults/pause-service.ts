import { pickOne, type Fault } from "../fault.ts";

/** A process that stands still and then goes on as if nothing had been: its connections, leases and clocks are all stale. */
export const pauseService: Fault = {
  name: "pause-service",
  description: "SIGSTOP of a service, and SIGCONT",
  worlds: ["embedded", "shared"],
  holdSeconds: [3, 30],
  strike({ world, random }) {
    const instance = pickOne(random, world.instances);
    return {
      async inject() {
        instance.signal("SIGSTOP");
      },
      async heal() {
        instance.signal("SIGCONT");
      },
      hit: instance.name,
    };
  },
};
