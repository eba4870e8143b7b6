import type { Random } from "../../src/simulator/random.ts";
import { pickOne, type Fault } from "../fault.ts";
import type { PgProxy } from "../proxy.ts";
import type { World } from "../world.ts";

/** One service's way to PostgreSQL, or everybody's. */
function someProxies(world: World, random: Random): { proxies: readonly PgProxy[]; hit: string } {
  if (random.chance(0.4)) return { proxies: world.proxies, hit: "all" };
  const proxy = pickOne(random, world.proxies);
  return { proxies: [proxy], hit: world.instances[world.proxies.indexOf(proxy)]?.name ?? "" };
}

export const proxyDelay: Fault = {
  name: "proxy-delay",
  description: "every message between service and PostgreSQL takes up to 0.4 s",
  worlds: ["shared"],
  holdSeconds: [3, 15],
  strike({ world, random }) {
    const { proxies, hit } = someProxies(world, random);
    const ms = random.between(50, 400);
    const all = (delayMs: number) => async (): Promise<void> => {
      for (const proxy of proxies) proxy.delay(delayMs);
    };
    return { inject: all(ms), heal: all(0), hit: `${hit} ${ms} ms` };
  },
};

/** Connections break again and again, in whatever they are. */
export const proxyReset: Fault = {
  name: "proxy-reset",
  description: "all connections to PostgreSQL are cut, several times a second",
  worlds: ["shared"],
  holdSeconds: [2, 8],
  strike({ world, random }) {
    const { proxies, hit } = someProxies(world, random);
    const everyMs = random.between(80, 600);
    let timer: NodeJS.Timeout | undefined;
    let cut = 0;
    const reset = (): void => {
      for (const proxy of proxies) cut += proxy.reset();
    };
    return {
      async inject() {
        reset();
        timer = setInterval(reset, everyMs);
      },
      async heal() {
        clearInterval(timer);
      },
      get hit() {
        return `${hit} every ${everyMs} ms, ${cut} connections`;
      },
    };
  },
};

/** PostgreSQL takes no connections: what comes is refused and spooled. */
export const postgresAway: Fault = {
  name: "postgres-away",
  description: "PostgreSQL takes no connections",
  worlds: ["shared"],
  holdSeconds: [3, 15],
  strike({ world, random }) {
    const { proxies, hit } = someProxies(world, random);
    const all = (mode: "refuse" | "pass") => async (): Promise<void> => {
      for (const proxy of proxies) proxy.mode(mode);
    };
    return { inject: all("refuse"), heal: all("pass"), hit };
  },
};

/**
 * The network breaks without a word: connections stay open and carry nothing. Those that were open then stay dead when
 * it is back, on both sides, and what PostgreSQL holds locked for them it holds until it gives them up.
 */
export const proxyHalfOpen: Fault = {
  name: "proxy-half-open",
  description: "connections to PostgreSQL carry nothing any more, and neither side is told",
  worlds: ["shared"],
  holdSeconds: [3, 20],
  strike({ world, random }) {
    const { proxies, hit } = someProxies(world, random);
    const all = (mode: "half-open" | "pass") => async (): Promise<void> => {
      for (const proxy of proxies) proxy.mode(mode);
    };
    return { inject: all("half-open"), heal: all("pass"), hit };
  },
};

/** The most valuable of all: PostgreSQL has committed, and nobody tells the service. */
export const cutAfterCommit: Fault = {
  name: "cut-after-commit",
  description: "connections are cut after PostgreSQL has committed and before the service hears of it",
  worlds: ["shared"],
  holdSeconds: [3, 10],
  strike({ world, random }) {
    const counts = { append: random.between(2, 8), commit: random.between(2, 8) };
    const before = world.proxies.map(({ cuts }) => cuts);
    const cut = (): number => world.proxies.reduce((sum, { cuts }, index) => sum + cuts - (before[index] ?? 0), 0);
    const problems: string[] = [];
    return {
      async inject() {
        for (const proxy of world.proxies) {
          proxy.cutAfterCommit("append", counts.append);
          proxy.cutAfterCommit("commit", counts.commit);
        }
      },
      async heal() {
        for (const proxy of world.proxies) {
          proxy.cutAfterCommit("append", 0);
          proxy.cutAfterCommit("commit", 0);
        }
        if (cut() === 0) problems.push("no connection was cut after its commit: the fault did not strike");
      },
      get hit() {
        return `${cut()} commits`;
      },
      problems,
    };
  },
};
