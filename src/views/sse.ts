import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { SSE_CLIENT_BYTES_MAX, SSE_RECONNECT_MS } from "../limits.ts";

/** One connected reader of a stream of Server-Sent Events. */
export interface SseReader {
  /** What is to be sent as the answer's body. */
  readonly body: Readable;
  /** Sends one message. A reader that has let too much pile up is cut off instead; it connects again by itself. */
  send(event: string, data: unknown, id?: string): void;
  /** Sends a comment, so that no proxy takes a quiet connection for dead. */
  heartbeat(): void;
  /** Ends the stream after what was sent. */
  end(): void;
  /** Closes the connection at once. */
  cutOff(): void;
  readonly lastSentMs: number;
  /** Resolves when the connection has taken everything, or is gone. */
  readonly closed: Promise<void>;
}

export interface SseReaderOptions {
  response: ServerResponse;
  onCutOff: () => void;
  bytesMax?: number;
}

export function createSseReader(options: SseReaderOptions): SseReader {
  const { response, onCutOff, bytesMax = SSE_CLIENT_BYTES_MAX } = options;
  // Pushed into from outside: there is nothing to do when the other side asks for more.
  const body = new Readable({ read: () => undefined });
  const closed = new Promise<void>((resolve) => response.once("close", () => resolve()));
  let lastSentMs = Date.now();
  let ended = false;

  function push(text: string): void {
    if (ended || body.destroyed) return;
    // The socket takes what it can; what waits here is what the reader has not taken.
    if (body.readableLength > bytesMax) {
      onCutOff();
      cutOff();
      return;
    }
    lastSentMs = Date.now();
    body.push(text);
  }
  function cutOff(): void {
    ended = true;
    response.destroy();
    body.destroy();
  }

  body.push(`retry: ${SSE_RECONNECT_MS}\n\n`);
  return {
    body,
    send(event, data, id) {
      push(`${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    },
    heartbeat: () => push(":\n\n"),
    end() {
      if (ended || body.destroyed) return;
      ended = true;
      body.push(null);
    },
    cutOff,
    closed,
    get lastSentMs() {
      return lastSentMs;
    },
  };
}
