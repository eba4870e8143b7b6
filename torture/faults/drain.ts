import { pickOne, type Fault } from "../fault.ts";

/** A stop in order, under load: it must end with 0, and answer every request that it had begun with. */
export const drain: Fault = {
  name: "drain",
  description: "SIGTERM of a service under load: it must answer what it has begun with, and end with 0",
  worlds: ["embedded", "shared"],
  holdSeconds: [0.2, 2],
  strike({ world, random }) {
    const instance = pickOne(random, world.instances);
    const problems: string[] = [];
    return {
      async inject() {
        const code = await instance.end("SIGTERM");
        if (code !== 0)
          problems.push(`${instance.name} ended with ${code} after SIGTERM:\n${instance.output().slice(-800)}`);
      },
      heal: () => instance.start(),
      hit: instance.name,
      problems,
    };
  },
};
