import { statfs } from "node:fs/promises";

/** The disk under a folder. */
export interface DiskWatch {
  /** Looks now. @returns the bytes free for us. */
  look(): Promise<number>;
  /** As of the last look: whether less is free than the limit. */
  isLow(): boolean;
  freeBytes(): number | undefined;
}

/**
 * Watches the free space under a folder. PostgreSQL stops hard when its disk is full; refusing POSTs a little earlier
 * keeps it running, and SendGrid keeps what is refused for a day.
 */
export function createDiskWatch(folder: string, freeBytesMin: number): DiskWatch {
  let free: number | undefined;
  return {
    async look() {
      const { bavail, bsize } = await statfs(folder);
      free = bavail * bsize;
      return free;
    },
    isLow: () => free !== undefined && free < freeBytesMin,
    freeBytes: () => free,
  };
}
