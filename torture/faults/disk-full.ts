import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Fault } from "../fault.ts";
import { mountUnavailable } from "./tools.ts";

const CHUNK_BYTES = 1024 * 1024;
const LAST_CHUNK_BYTES = 4096;

/** Somebody else fills the disk to its last byte under database and spool, and later makes room again. */
export const diskFull: Fault = {
  name: "disk-full",
  description: "the disk under the data directory is full, and then has room again",
  worlds: ["small-disk"],
  holdSeconds: [4, 15],
  unavailable: mountUnavailable,
  strike({ world }) {
    const filler = join(world.dataDir, "filler");
    return {
      async inject() {
        await fill(filler, CHUNK_BYTES);
        await fill(filler, LAST_CHUNK_BYTES);
      },
      async heal() {
        await rm(filler, { force: true });
        await world.ask("SELECT 1");
      },
    };
  },
};

async function fill(path: string, chunkBytes: number): Promise<void> {
  const file = await open(path, "a");
  const chunk = Buffer.alloc(chunkBytes);
  try {
    for (;;) {
      const { bytesWritten } = await file.write(chunk);
      if (bytesWritten < chunkBytes) return;
    }
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
  } finally {
    await file.close();
  }
}
