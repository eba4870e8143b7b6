import { connect, type Socket } from "node:net";
import { createFrameReader, statementOf, type Frame } from "./pg-frames.ts";

/** What the client waits for when the connection is cut: an append's own commit, or a transaction's COMMIT. */
export type CutPoint = "append" | "commit";

/** One connection through the proxy. */
export interface Link {
  /** Inside a transaction, by the last ReadyForQuery. */
  isInTransaction(): boolean;
  /** Carries nothing from now on and for ever; neither end is told. */
  die(): void;
  cut(): void;
}

export interface LinkOptions {
  client: Socket;
  /** The path of the server's socket. */
  upstream: string;
  /** What each chunk waits now, milliseconds. */
  delayMs: () => number;
  /** Whether the commit that has just been sent is one whose answer must not arrive. */
  shouldCut: (point: CutPoint) => boolean;
  onCut: () => void;
  onEnd: (link: Link) => void;
}

/** Joins a client to the server, chunk by chunk and in order, and follows the protocol on the way. */
export function openLink(options: LinkOptions): Link {
  const { client, upstream, delayMs, shouldCut, onCut, onEnd } = options;
  const server = connect(upstream);
  /** Of the last ReadyForQuery: I idle, T in a transaction, E in a failed one. */
  let status = "";
  /** Set while the answer to a commit is awaited that the client must not get. */
  let held: Buffer[] | undefined;
  let isDead = false;
  const toClient = createQueue(client, delayMs);
  const toServer = createQueue(server, delayMs);
  const forward = (chunk: Buffer, send: (chunk: Buffer) => void): void => {
    if (!isDead) send(chunk);
  };

  function onClient(frames: readonly Frame[]): void {
    for (const frame of frames) {
      const statement = statementOf(frame);
      const point = statement === undefined ? undefined : cutPointOf(statement);
      if (point !== undefined && held === undefined && shouldCut(point)) held = [];
    }
  }

  function onServer(frames: readonly Frame[]): void {
    for (const { type, payload } of frames) {
      if (type === "Z") status = payload.toString("latin1", 0, 1);
      if (held === undefined) continue;
      if (type === "E") {
        // The commit failed: the client may hear so.
        for (const chunk of held) forward(chunk, toClient);
        held = undefined;
      } else if (type === "Z") {
        onCut();
        link.cut();
        return;
      }
    }
  }

  const link: Link = {
    isInTransaction: () => status === "T" && !isDead,
    die() {
      isDead = true;
    },
    cut() {
      client.destroy();
      server.destroy();
      onEnd(link);
    },
  };
  const readClient = createFrameReader(1);
  const readServer = createFrameReader(0);
  client.on("data", (chunk: Buffer) => {
    onClient(readClient(chunk));
    forward(chunk, toServer);
  });
  server.on("data", (chunk: Buffer) => {
    const isHeld = held !== undefined;
    held?.push(chunk);
    onServer(readServer(chunk));
    if (!isHeld) forward(chunk, toClient);
  });
  for (const socket of [client, server]) {
    socket.on("error", () => undefined);
    // Where the network is broken, an end does not reach the other side either.
    socket.on("close", () => (isDead ? undefined : link.cut()));
  }
  return link;
}

/** Writes chunks one after the other, however long each waits. */
function createQueue(socket: Socket, delayMs: () => number): (chunk: Buffer) => void {
  let last = Promise.resolve();
  return (chunk) => {
    const waitMs = delayMs();
    last = last.then(async () => {
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
      if (!socket.destroyed) socket.write(chunk);
    });
  };
}

/** The append is a statement of its own, prepared under a name; every other transaction says COMMIT. */
function cutPointOf(statement: string): CutPoint | undefined {
  if (/^\s*COMMIT\b/i.test(statement)) return "commit";
  return statement.startsWith("append ") ? "append" : undefined;
}
