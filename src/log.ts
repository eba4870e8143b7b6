import { pino, type Logger } from "pino";
import { sqlState } from "./errors.ts";

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
      serializers: { err: describeError },
    },
    pino.destination({ dest: 2, sync: true }),
  );
}

/** Data exceptions and broken constraints: PostgreSQL quotes the values in its message. */
const QUOTES_DATA = /^2[23]/;
const CAUSES_MAX = 3;

/**
 * What of an error is logged: its name, code, message and place, and those of its causes. Nothing else that hangs on it: the
 * driver's errors carry the connection with its keys, PostgreSQL's carry the row in question.
 */
export function describeError(error: unknown, causesMax = CAUSES_MAX): unknown {
  if (!(error instanceof Error)) return { message: typeof error === "string" ? error : typeof error };
  const code = "code" in error && typeof error.code === "string" ? error.code : undefined;
  const constraint = "constraint" in error && typeof error.constraint === "string" ? error.constraint : undefined;
  const isQuoting = QUOTES_DATA.test(sqlState(error) ?? "");
  return {
    name: error.name,
    code,
    constraint,
    message: isQuoting ? undefined : error.message,
    // Without its head, which repeats the message.
    stack: error.stack
      ?.split("\n")
      .filter((line) => line.startsWith("    at "))
      .join("\n"),
    cause: error.cause === undefined || causesMax === 0 ? undefined : describeError(error.cause, causesMax - 1),
  };
}
