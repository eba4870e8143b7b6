import { copyFile, open, stat, truncate } from "node:fs/promises";
import { POSTGRES_LOG_BYTES_MAX } from "../limits.ts";

/**
 * Keeps the server's log within two files. The server has the file open for appending and outlives this process when that is
 * killed, so the file is copied and emptied, not renamed. (PostgreSQL's own collector can bound a log by days, not by bytes.)
 */
export async function rotateServerLog(file: string, bytesMax = POSTGRES_LOG_BYTES_MAX): Promise<void> {
  if ((await logBytes(file)) <= bytesMax) return;
  await copyFile(file, `${file}.1`);
  await truncate(file);
}

/** The length of the log; 0 when there is none yet. */
export async function logBytes(file: string): Promise<number> {
  const stats = await stat(file).catch(() => undefined);
  return stats?.size ?? 0;
}

/** What was written from `start` on, at most the last `bytesMax` bytes of it. */
export async function logSince(file: string, start: number, bytesMax = 2_000): Promise<string> {
  const end = await logBytes(file);
  const from = Math.max(start, end - bytesMax, 0);
  const handle = await open(file, "r");
  try {
    const { buffer, bytesRead } = await handle.read(
      Buffer.alloc(Math.max(end - from, 0)),
      0,
      Math.max(end - from, 0),
      from,
    );
    return buffer.toString("utf8", 0, bytesRead).trim();
  } finally {
    await handle.close();
  }
}
