import { Socket } from "node:net";
import { SOCKETS_CLOSE_MS_MAX } from "../limits.ts";

/** The sockets under a pool's connections. */
export interface Sockets {
  /** Makes the socket of one more connection: node-postgres' `stream`. */
  open: () => Socket;
  /**
   * Destroys all there are, and from now on each new one. Whoever waits for an answer on one of them hears an error at
   * once; the server rolls back what was not committed. @returns how many there were.
   */
  cut: () => number;
  /** Resolves when all are closed. One whose other end does not take part in the goodbye is destroyed after a moment. */
  closed: () => Promise<void>;
}

/**
 * A connection whose other end is gone without a word (half open) neither answers nor ends: a query on it fails only when
 * query_timeout is over, and its socket alone would keep the process from ending. So a stop must be able to cut it.
 */
export function createSockets(): Sockets {
  const sockets = new Set<Socket>();
  let isCut = false;
  const destroyAll = (): void => {
    for (const socket of sockets) socket.destroy(new Error("cut: the service is stopping"));
  };
  return {
    open() {
      const socket = new Socket();
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
      // Not before its user listens for errors.
      if (isCut) process.nextTick(() => socket.destroy(new Error("cut: the service is stopping")));
      return socket;
    },
    cut() {
      isCut = true;
      const { size } = sockets;
      destroyAll();
      return size;
    },
    async closed() {
      const timer = setTimeout(destroyAll, SOCKETS_CLOSE_MS_MAX);
      await Promise.all(Array.from(sockets, (socket) => new Promise((resolve) => socket.once("close", resolve))));
      clearTimeout(timer);
    },
  };
}
