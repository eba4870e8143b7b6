import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/longest-first.ts";

export default defineConfig({
  test: {
    include: [
      "src/**/*.test.ts",
      "test/**/*.test.ts",
      "web/**/*.test.{ts,tsx}",
      "scripts/**/*.test.ts",
      "torture/**/*.test.ts",
      "bench/**/*.test.ts",
    ],
    globalSetup: "./test/global-setup.ts",
    // One more than cores, since files wait for processes and timers. All share one PostgreSQL of 100 connections, of which a file uses
    // up to a dozen at once.
    maxWorkers: Math.min(availableParallelism() + 1, 5),
    // A worker keeps what it has imported for its next file: 70 files of pure tests took 8 s of CPU instead of 20. No module keeps
    // anything that the tests of another file would see, and no test replaces a module.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // Only what hangs may end by these: how fast the machine is must never decide.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 60_000,
    restoreMocks: true,
    unstubEnvs: true,
    unstubGlobals: true,
  },
});
