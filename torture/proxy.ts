import { randomBytes } from "node:crypto";
import { chmod, mkdir, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { openLink, type CutPoint, type Link } from "./pg-link.ts";

/** What the way to PostgreSQL does. `refuse` takes no connection; `half-open` takes them, and bytes, and forwards nothing. */
export type ProxyMode = "pass" | "refuse" | "half-open";

export interface PgProxy {
  /** As `host` of a database address. */
  folder: string;
  mode(mode: ProxyMode): void;
  /** Each chunk waits that long, both ways. */
  delay(ms: number): void;
  /** Cuts every connection there is. @returns how many there were. */
  reset(): number;
  /** Cuts the next so many connections after the server has committed and before the client hears of it. */
  cutAfterCommit(point: CutPoint, count: number): void;
  /** How many were cut so. */
  readonly cuts: number;
  /** Whether some connection is inside a transaction now. */
  isInTransaction(): boolean;
  stop(): Promise<void>;
}

/**
 * A proxy between a service and PostgreSQL, from Unix socket to Unix socket, that understands enough of the protocol to
 * know a commit when it sees one. A connection that was half-open stays dead for ever, and neither end is told, as when
 * the network between two machines breaks.
 *
 * @param upstream the path of the server's socket.
 */
export async function startPgProxy(folder: string, upstream: string): Promise<PgProxy> {
  const links = new Set<Link>();
  const cutsLeft: Record<CutPoint, number> = { append: 0, commit: 0 };
  let mode: ProxyMode = "pass";
  let delayMs = 0;
  let cuts = 0;

  const server = createServer((client) => {
    if (mode === "refuse") {
      client.destroy();
      return;
    }
    const link = openLink({
      client,
      upstream,
      delayMs: () => delayMs,
      shouldCut(point) {
        if (cutsLeft[point] === 0) return false;
        cutsLeft[point] -= 1;
        return true;
      },
      onCut() {
        cuts += 1;
      },
      onEnd: (ended) => links.delete(ended),
    });
    links.add(link);
    if (mode === "half-open") link.die();
  });
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o700);
  await new Promise<void>((resolve) => server.listen(join(folder, ".s.PGSQL.5432"), resolve));

  const cutAll = (): number => {
    const count = links.size;
    for (const link of links) link.cut();
    return count;
  };
  return {
    folder,
    mode(next) {
      mode = next;
      if (next === "refuse") cutAll();
      if (next === "half-open") for (const link of links) link.die();
    },
    delay(ms) {
      delayMs = ms;
    },
    reset: cutAll,
    cutAfterCommit(point, count) {
      cutsLeft[point] = count;
    },
    get cuts() {
      return cuts;
    },
    isInTransaction: () => [...links].some((link) => link.isInTransaction()),
    async stop() {
      cutAll();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A database address that leads through another folder's socket. */
export function throughSocket(databaseUrl: string, folder: string): string {
  const url = new URL(databaseUrl);
  url.searchParams.set("host", folder);
  return url.href;
}

/** A folder name short enough for a socket's path, wherever it stands. */
export function proxyFolder(base: string): string {
  return join(base, `p${randomBytes(3).toString("hex")}`);
}
