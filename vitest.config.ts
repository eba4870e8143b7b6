import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

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
    // All files share one PostgreSQL of 100 connections; a file uses up to a dozen at once, and its workers need the same cores.
    maxWorkers: Math.min(availableParallelism(), 4),
    // Only what hangs may end by these: how fast the machine is must never decide.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 60_000,
    restoreMocks: true,
    unstubEnvs: true,
    unstubGlobals: true,
  },
});
