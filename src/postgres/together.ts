import type { Connection } from "./pool.ts";

/**
 * Has statements that need nothing of each other's answers go out in one piece, and waits for all answers: one round trip, which
 * between two processes of one machine costs more than most of these statements, and to a server elsewhere a millisecond.
 * PostgreSQL runs them one after the other in their order. `send` asks all of them before it waits for anything.
 *
 * @throws what the first one that fails throws. In a transaction, those behind it fail then too.
 */
export async function together<T extends readonly unknown[] | []>(
  tx: Connection,
  send: () => T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  const { stream } = tx.connection;
  stream.cork();
  let answers: T;
  try {
    answers = send();
  } finally {
    stream.uncork();
  }
  return Promise.all(answers);
}
