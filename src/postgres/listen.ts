import { once } from "node:events";
import { Socket } from "node:net";
import pg from "pg";
import { CONNECT_MS_MAX } from "../limits.ts";
import type { Log } from "../log.ts";

const RECONNECT_MS = 1_000;

export interface Listener {
  stop(): Promise<void>;
}

export interface ListenOptions {
  databaseUrl: string;
  channel: string;
  log: Log;
  onNotification: (payload: string) => void;
  /** Called after every (re)connect: notifications may have been missed before it. */
  onConnect?: () => void;
}

/**
 * Listens on one channel over a connection of its own, and connects again when that is lost.
 * A notification is a hint to look, never the only copy of anything: what is sent while the connection is away is gone.
 */
export function listen(options: ListenOptions): Listener {
  const { databaseUrl, channel, log, onNotification, onConnect } = options;
  let socket: Socket | undefined;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  async function connect(): Promise<void> {
    const mySocket = new Socket();
    socket = mySocket;
    const mine = new pg.Client({
      stream: () => mySocket,
      connectionString: databaseUrl,
      connectionTimeoutMillis: CONNECT_MS_MAX,
      application_name: `holdfast listen ${channel}`,
      keepAlive: true,
    });
    let lost = false;
    const onLost = (error?: unknown): void => {
      if (lost || stopped) return;
      lost = true;
      log.warn({ err: error, channel }, "listening connection lost");
      mySocket.destroy();
      timer = setTimeout(() => void connect(), RECONNECT_MS);
    };
    mine.on("error", onLost);
    mine.on("end", () => onLost());
    mine.on("notification", (message) => onNotification(message.payload ?? ""));
    try {
      await mine.connect();
      await mine.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
      onConnect?.();
    } catch (error) {
      onLost(error);
    }
  }

  void connect();
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      // It is in no transaction, so nothing is lost by not saying goodbye; one whose other end is gone would wait for ever.
      if (socket === undefined || socket.closed) return;
      const closed = once(socket, "close");
      socket.destroy();
      await closed;
    },
  };
}
