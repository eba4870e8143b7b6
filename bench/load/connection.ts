import { connect, type Socket } from "node:net";
import { HTTPParser } from "http-parser-js";

/** Longer than the slowest peer takes for a POST of 500 events when it is busy with nine others. */
const ANSWER_MS_MAX = 180_000;
/** One buffer for each connection: all answers of our receivers fit it, and longer ones come in pieces. */
const READ_BYTES = 4_096;
/** A body up to this is copied behind its head: to write both in one call as two pieces takes 8 us more. */
const JOINED_BYTES_MAX = 16_384;

/** Where a receiver takes its POSTs. */
export interface Target {
  host: string;
  port: number;
  /** The request's first lines: method and path, and the host. */
  opening: string;
}

export function targetOf(address: string): Target {
  const { hostname, port, host, pathname } = new URL(address);
  return { host: hostname, port: Number(port), opening: `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\n` };
}

/** A connection that sends one POST at a time, and is made anew whenever the last one broke or its receiver ended it. */
export interface Connection {
  /**
   * Sends a POST. `done` is told the answer's status once the answer is whole, 0 where none came.
   *
   * @param head the remaining header lines, each with its line break.
   */
  post(head: string, body: Buffer, done: (status: number) => void): void;
  close(): void;
}

/**
 * HTTP as far as a load generator needs it: ready bytes go out, of the answer no more is read than its status and its end. It
 * shares the machine with what it measures: of a POST of one event the generator with undici took 40 us, with this it takes 25, of
 * ten events 60 and 35.
 */
export function createConnection(target: Target): Connection {
  let socket: Socket | undefined;
  let waiting: ((status: number) => void) | undefined;

  const answer = (status: number): void => {
    const done = waiting;
    waiting = undefined;
    done?.(status);
  };
  const drop = (): void => {
    const own = socket;
    socket = undefined;
    own?.destroy();
  };

  function open(): Socket {
    const own = connectTo(target, {
      answered(status, stays) {
        if (!stays) drop();
        answer(status);
      },
      // Where nothing was asked, the next POST must not meet the connection's end.
      ending: () => waiting === undefined && drop(),
    });
    own.on("close", () => {
      if (socket !== own) return;
      socket = undefined;
      answer(0);
    });
    return own;
  }

  return {
    post(head, body, done) {
      waiting = done;
      socket ??= open();
      send(socket, `${target.opening}${head}\r\n`, body);
    },
    close: drop,
  };
}

interface Events {
  /** An answer is whole. `stays`: whether the connection may be used again. */
  answered(status: number, stays: boolean): void;
  /** The receiver sends no more. */
  ending(): void;
}

/** A socket whose answers are read. It closes by itself when an answer does not come in time or is no HTTP. */
function connectTo({ host, port }: Target, events: Events): Socket {
  const parser = new HTTPParser(HTTPParser.RESPONSE);
  let status = 0;
  let stays = true;
  parser[HTTPParser.kOnHeadersComplete] = (head) => {
    status = head.statusCode;
    stays = head.shouldKeepAlive;
  };
  parser[HTTPParser.kOnMessageComplete] = () => events.answered(status, stays);
  const buffer = Buffer.alloc(READ_BYTES);
  const callback = (bytes: number): boolean => {
    if (parser.execute(buffer, 0, bytes) instanceof Error) socket.destroy();
    return true;
  };
  const socket = connect({ host, port, noDelay: true, onread: { buffer, callback } });
  socket.setTimeout(ANSWER_MS_MAX, () => socket.destroy());
  socket.on("end", () => {
    // An answer without a length ends with its connection.
    parser.finish();
    events.ending();
  });
  // "close" follows, and says what there is to say.
  socket.on("error", () => undefined);
  return socket;
}

function send(socket: Socket, head: string, body: Buffer): void {
  if (body.length <= JOINED_BYTES_MAX) {
    const request = Buffer.allocUnsafe(head.length + body.length);
    request.write(head, "latin1");
    body.copy(request, head.length);
    socket.write(request);
    return;
  }
  socket.cork();
  socket.write(head, "latin1");
  socket.write(body);
  socket.uncork();
}
