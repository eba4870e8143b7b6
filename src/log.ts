import { pino, type Logger } from "pino";

export type Log = Logger;

/**
 * Makes the process's log: JSON lines on standard error, so that standard output stays for what a command prints.
 * No line may hold a secret or a personal datum: callers log ids, counts and codes, never bodies, addresses or queries.
 */
export function createLog(level: string): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    pino.destination({ dest: 2, sync: true }),
  );
}
