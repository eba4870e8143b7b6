import pg from "pg";
import type { Connection } from "./pool.ts";

/** What the driver's own types leave out. */
interface Wire {
  query(text: string): void;
  stream: { cork(): void; uncork(): void; write(bytes: Uint8Array): boolean };
}

const LENGTH_BYTES = 4;

/** The head of a message of PostgreSQL's protocol: its letter, and its length without that, which counts itself. */
function messageHead(letter: string, bodyBytes: number): Buffer {
  const head = Buffer.alloc(1 + LENGTH_BYTES);
  head.write(letter, "latin1");
  head.writeUInt32BE(LENGTH_BYTES + bodyBytes, 1);
  return head;
}

/**
 * Runs `COPY … FROM STDIN` with rows that are there already, in one round trip: the server is not asked whether it is ready
 * for them, since it reads what comes in order, and passes over rows for a COPY that it refuses. pg-copy-streams, which
 * waits for it and writes in three pieces, takes a round trip more, and does not work on a connection that pipelines.
 *
 * @returns how many rows PostgreSQL says it stored.
 */
export async function copyIn(tx: Connection, text: string, rows: Buffer): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const query = new pg.Query(text, (error: Error | undefined, result) => {
    if (error instanceof Error) reject(error);
    else resolve(result.rowCount ?? 0);
  });
  const submit = (wire: Wire): null => {
    const { stream } = wire;
    stream.cork();
    wire.query(text);
    for (const bytes of [messageHead("d", rows.length), rows, messageHead("c", 0)]) stream.write(bytes);
    stream.uncork();
    return null;
  };
  // The driver's answer to this message would be to break the COPY off.
  const handleCopyInResponse = (): void => {};
  tx.query(Object.assign(query, { submit, handleCopyInResponse }));
  return promise;
}
