import { writeFile } from "node:fs/promises";
import type { Fault } from "../fault.ts";

const HOUR_MS = 3_600_000;

/** The clock of every service jumps by an hour and, when it is healed, back. PostgreSQL's does not. */
export const clockJump: Fault = {
  name: "clock-jump",
  description: "the services' clocks jump by an hour, forward or back, and then return",
  worlds: ["embedded", "shared"],
  holdSeconds: [3, 15],
  strike({ world, random }) {
    const offsetMs = random.chance(0.5) ? HOUR_MS : -HOUR_MS;
    return {
      inject: () => writeFile(world.clockFile, String(offsetMs)),
      heal: () => writeFile(world.clockFile, "0"),
      hit: `${offsetMs / HOUR_MS} h`,
    };
  },
};
