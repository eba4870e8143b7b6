import { createHash, randomBytes } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Posted } from "./append.ts";

/** A POST as it lies in the spool. The source is kept by name: its number is the database's, which is away. */
export interface SpooledPost extends Posted {
  sourceName: string;
}

export interface SpoolState {
  posts: number;
  bytes: number;
  /** The earliest event time named in the spool, or the earliest arrival where a body names none. */
  oldestEventAt: Date | undefined;
}

export type Spooled = { outcome: "spooled" } | { outcome: "full" };

export interface Spool {
  /** Keeps a POST. Resolves once the disk has it: file and folder are fsynced. A POST that is there already is kept once. */
  keep(post: SpooledPost): Promise<Spooled>;
  /** The names of the POSTs kept, in no particular order. */
  names(): Promise<string[]>;
  read(name: string): Promise<SpooledPost>;
  /** Forgets a POST that the database now holds. */
  drop(name: string): Promise<void>;
  state(): SpoolState;
}

interface Header {
  source: string;
  key: number | null;
  signedAt: string | null;
  signature: string | null;
  receivedAt: string;
  oldestEventAt: string;
}

const TEMPORARY = ".part";
const BROKEN = ".broken";
const LINE_FEED = 0x0a;

/**
 * Opens the spool: where POSTs wait while PostgreSQL does not answer. A file is one line of JSON (what came with the
 * body) followed by the body, byte for byte, and is named by the SHA-256 of the body and its source, so that SendGrid's
 * own retries of a POST do not fill the disk. A file that cannot be read at the start is set aside as `.broken`.
 *
 * Invariant (promise P1): `spooled` is said only after file, rename and folder are fsynced. Test: spool.test.ts.
 */
export async function openSpool(
  folder: string,
  bytesMax: number,
  onBroken: (name: string) => void = () => undefined,
): Promise<Spool> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const kept = new Map<string, { bytes: number; oldestEventAt: number }>();
  let totalBytes = 0;
  for (const name of await readdir(folder)) {
    // A file that was being written when the process died was never promised to anybody.
    if (name.endsWith(TEMPORARY)) await unlink(join(folder, name));
    else if (!name.endsWith(BROKEN)) await remember(name);
  }

  async function remember(name: string): Promise<void> {
    const path = join(folder, name);
    const header = readHeader(await readFile(path));
    if (header === undefined) {
      // A disk that lost what it had promised. It must not keep the service from starting, nor be lost from sight.
      await rename(path, `${path}${BROKEN}`);
      onBroken(name);
      return;
    }
    const { size } = await stat(path);
    kept.set(name, { bytes: size, oldestEventAt: Date.parse(header.oldestEventAt) });
    totalBytes += size;
  }

  return {
    async keep(post) {
      const name = `${createHash("sha256").update(post.body).digest("hex")}.${post.sourceName}`;
      if (kept.has(name)) return { outcome: "spooled" };
      const oldestEventAt = oldestEvent(post);
      const content = Buffer.concat([Buffer.from(`${JSON.stringify(headerOf(post, oldestEventAt))}\n`), post.body]);
      if (totalBytes + content.length > bytesMax) return { outcome: "full" };
      totalBytes += content.length;
      try {
        await writeDurably(folder, name, content);
      } catch (error) {
        totalBytes -= content.length;
        throw error;
      }
      // The same POST may have come twice at once; it is one file, and counted once.
      if (kept.has(name)) totalBytes -= content.length;
      kept.set(name, { bytes: content.length, oldestEventAt: oldestEventAt.getTime() });
      return { outcome: "spooled" };
    },
    names: async () => [...kept.keys()],
    async read(name) {
      const { header, body } = parse(await readFile(join(folder, name)));
      const { source: sourceName, key, signedAt, signature, receivedAt } = header;
      return { source: 0, sourceName, key, signedAt, signature, receivedAt: new Date(receivedAt), body };
    },
    async drop(name) {
      await unlink(join(folder, name));
      totalBytes -= kept.get(name)?.bytes ?? 0;
      kept.delete(name);
    },
    state() {
      const oldest = Math.min(...Array.from(kept.values(), ({ oldestEventAt }) => oldestEventAt));
      return {
        posts: kept.size,
        bytes: totalBytes,
        oldestEventAt: Number.isFinite(oldest) ? new Date(oldest) : undefined,
      };
    },
  };
}

/** Write, fsync, rename, fsync the folder: after that the name either is not there or names the whole content. */
async function writeDurably(folder: string, name: string, content: Buffer): Promise<void> {
  const temporary = join(folder, `${name}.${randomBytes(4).toString("hex")}${TEMPORARY}`);
  const file = await open(temporary, "wx", 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } catch (error) {
    await file.close();
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
  await file.close();
  await rename(temporary, join(folder, name));
  const directory = await open(folder, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

function headerOf(post: SpooledPost, oldestEventAt: Date): Header {
  const { sourceName: source, key, signedAt, signature, receivedAt } = post;
  return {
    source,
    key,
    signedAt,
    signature,
    receivedAt: receivedAt.toISOString(),
    oldestEventAt: oldestEventAt.toISOString(),
  };
}

/** undefined when the file is not one that `keep` wrote whole. */
function readHeader(content: Buffer): Header | undefined {
  try {
    return parse(content).header;
  } catch {
    return undefined;
  }
}

function parse(content: Buffer): { header: Header; body: Buffer } {
  const end = content.indexOf(LINE_FEED);
  const header = JSON.parse(content.subarray(0, end).toString()) as Header;
  return { header, body: content.subarray(end + 1) };
}

/**
 * SendGrid's 24 hours run from the event, not from the POST. Without parsing the body (intake never does), the numbers
 * after "timestamp" tell; where there are none that make sense, the arrival does.
 */
function oldestEvent(post: SpooledPost): Date {
  let oldest = post.receivedAt.getTime();
  for (const match of post.body.toString("latin1").matchAll(/"timestamp"\s*:\s*"?(\d{10})(?!\d)/g)) {
    oldest = Math.min(oldest, Number(match[1]) * 1000);
  }
  return new Date(oldest);
}
