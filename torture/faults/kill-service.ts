import { pickOne, type Fault } from "../fault.ts";

/** Kill -9 of a service, wherever in its work it is. */
export const killService: Fault = {
  name: "kill-service",
  description: "kill -9 of a service",
  worlds: ["embedded", "shared", "small-disk"],
  holdSeconds: [0.2, 4],
  strike({ world, random }) {
    const instance = pickOne(random, world.instances);
    return {
      async inject() {
        await instance.end("SIGKILL");
      },
      heal: () => instance.start(),
      hit: instance.name,
    };
  },
};
