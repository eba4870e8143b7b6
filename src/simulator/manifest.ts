/* oxlint-disable no-bitwise -- One bit an event. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createWriteStream, type WriteStream } from "node:fs";
import type { Post } from "./posts.ts";

/** What the target said it has: the only thing it can be held to. One bit an event, whatever its size. */
export interface Manifest {
  /** Notes a 2xx. `receipt` is the answer's, if it named one. */
  acknowledge(post: Post, receipt: string | undefined): Promise<void>;
  isAcknowledged(event: number): boolean;
  /** Acknowledged events, each counted once however often it was sent. */
  readonly eventCount: number;
  /** Receipts that hold broken items, with the number of these. */
  readonly brokenByReceipt: ReadonlyMap<string, number>;
  /** Broken items whose POST was acknowledged without naming a receipt: nobody can look for them. */
  readonly brokenUnnamed: number;
  close(): Promise<void>;
}

/** `path`: also writes each acknowledged POST there, as a line of JSON. */
export function createManifest(path?: string): Manifest {
  const file = path === undefined ? undefined : createWriteStream(path, { flags: "wx", mode: 0o600 });
  let bits = new Uint8Array(1024);
  let eventCount = 0;
  let brokenUnnamed = 0;
  const brokenByReceipt = new Map<string, number>();

  function setBit(event: number): void {
    const byte = event >>> 3;
    if (byte >= bits.length) {
      const larger = new Uint8Array(Math.max(bits.length * 2, byte + 1));
      larger.set(bits);
      bits = larger;
    }
    const mask = 1 << (event & 7);
    const before = bits[byte] ?? 0;
    if ((before & mask) === 0) eventCount += 1;
    bits[byte] = before | mask;
  }

  return {
    async acknowledge(post, receipt) {
      for (const event of post.events) setBit(event);
      if (post.broken > 0) {
        if (receipt === undefined) brokenUnnamed += post.broken;
        else brokenByReceipt.set(receipt, post.broken);
      }
      if (file !== undefined) await writeLine(file, post, receipt);
    },
    isAcknowledged: (event) => ((bits[event >>> 3] ?? 0) & (1 << (event & 7))) !== 0,
    get eventCount() {
      return eventCount;
    },
    brokenByReceipt,
    get brokenUnnamed() {
      return brokenUnnamed;
    },
    async close() {
      if (file === undefined) return;
      file.end();
      await once(file, "close");
    },
  };
}

async function writeLine(file: WriteStream, post: Post, receipt: string | undefined): Promise<void> {
  const sha256 = createHash("sha256").update(post.body).digest("hex");
  const line = JSON.stringify({ receipt: receipt ?? null, sha256, events: post.ids, broken: post.broken });
  if (!file.write(`${line}\n`)) await once(file, "drain");
}
