import type { Log } from "./log.ts";

/** A long-running thing: `tick` does one unit of work and says whether there may be more at once. */
export interface Loop {
  /** Begins ticking. A loop starts once. */
  start(): void;
  /** Ends the wait before the next tick, if there is one. */
  wake(): void;
  /** Lets the tick under way finish, then stops. */
  stop(): Promise<void>;
}

export interface LoopOptions {
  name: string;
  log: Log;
  tick: () => Promise<boolean>;
  /** The wait after a tick that found nothing more to do, unless woken. Infinity: only a wake ends it. */
  idleMs: number | (() => number);
  /** How long to rest after a tick that took so long, when there is more to do. No wake ends it. Default: not at all. */
  restMs?: (tickMs: number) => number;
  /** The longest wait after failing ticks; the first is `idleMs` or a second if that is less, then doubled. */
  failingMsMax?: number;
}

const FAILING_MS_MIN = 1_000;

/**
 * Runs `tick` again and again. A failing tick never ends the loop: it is logged (as a warning, from the third in a
 * row as an error) and tried again after a growing wait, since every caller's work waits safely in the database.
 */
export function createLoop(options: LoopOptions): Loop {
  const { name, log, tick, idleMs, restMs = () => 0, failingMsMax = 30_000 } = options;
  let stopped = false;
  let woken = false;
  let failures = 0;
  /** The pause that the loop makes now, if it makes one. */
  let pause: { endsOnWake: boolean; end: () => void } | undefined;
  let running: Promise<void> | undefined;

  async function pauseFor(ms: number, endsOnWake: boolean): Promise<void> {
    if (stopped || (endsOnWake && woken)) return;
    await new Promise<void>((resolve) => {
      const timer = ms === Infinity ? undefined : setTimeout(resolve, ms);
      const end = (): void => {
        clearTimeout(timer);
        resolve();
      };
      pause = { endsOnWake, end };
    });
    pause = undefined;
  }

  async function run(): Promise<void> {
    while (!stopped) {
      woken = false;
      let more = false;
      const beganMs = performance.now();
      try {
        more = await tick();
        failures = 0;
      } catch (error) {
        failures += 1;
        log[failures < 3 ? "warn" : "error"]({ loop: name, failures, err: error }, "tick failed");
      }
      if (more) {
        const ms = restMs(performance.now() - beganMs);
        if (ms > 0) await pauseFor(ms, false);
        continue;
      }
      const ms = typeof idleMs === "number" ? idleMs : idleMs();
      const failingMs = Math.min(Math.min(ms, FAILING_MS_MIN) * 2 ** (failures - 1), failingMsMax);
      await pauseFor(failures === 0 ? ms : failingMs, true);
    }
  }

  return {
    start() {
      running ??= run();
    },
    wake() {
      woken = true;
      // A woken loop that is failing still waits: the news does not make the cause go away.
      if (failures === 0 && pause?.endsOnWake === true) pause.end();
    },
    async stop() {
      stopped = true;
      pause?.end();
      await running;
    },
  };
}
