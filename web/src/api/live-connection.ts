import { ApiError, errorOf } from "./client.ts";
import { createSseParser, type SseMessage } from "./sse.ts";

export interface LiveConnection {
  /** The address to ask, made anew for every attempt: the reader's day may have changed. */
  address: () => string;
  onOpen: () => void;
  /** Anything came, even a heartbeat. */
  onHeard: () => void;
  onMessage: (message: SseMessage) => void;
  /** The connection broke, or could not be made. `full`: the server has too many pages. */
  onDown: (full: boolean) => void;
  signal: AbortSignal;
}

/** The server sends a heartbeat every 15 s; a connection silent for longer than two of them is dead. */
const SILENCE_MS_MAX = 40_000;
const RETRY_MS: readonly number[] = [500, 1_000, 2_000, 5_000, 10_000];

/**
 * Keeps one stream open until the signal, however often it breaks, and resumes where it was. Ends early with
 * "signed_out" when the session is over.
 */
export async function keepConnected(connection: LiveConnection): Promise<"stopped" | "signed_out"> {
  let failures = 0;
  let lastEventId: string | undefined;
  const { signal } = connection;
  const onOpen = (): void => {
    failures = 0;
    connection.onOpen();
  };
  const onMessage = (message: SseMessage): void => {
    if (message.id !== undefined) lastEventId = message.id;
    connection.onMessage(message);
  };

  while (!signal.aborted) {
    const outcome = await readOnce({ ...connection, onOpen, onMessage }, lastEventId);
    if (outcome === "signed_out") return outcome;
    if (signal.aborted) break;
    connection.onDown(outcome === "full");
    await pause(RETRY_MS[Math.min(failures, RETRY_MS.length - 1)] ?? 1_000, signal);
    failures += 1;
  }
  return "stopped";
}

/** One attempt, from the request to the end of its stream. Every way it can break is an expected outcome. */
async function readOnce(
  connection: LiveConnection,
  lastEventId: string | undefined,
): Promise<"ended" | "full" | "signed_out"> {
  const attempt = new AbortController();
  try {
    const response = await fetch(connection.address(), {
      credentials: "same-origin",
      headers: { accept: "text/event-stream", ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }) },
      signal: AbortSignal.any([connection.signal, attempt.signal]),
    });
    if (!response.ok || response.body === null) throw await errorOf(response);
    connection.onOpen();
    const push = createSseParser(connection.onMessage);
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    for (;;) {
      const { done, value } = await within(reader.read(), SILENCE_MS_MAX);
      if (done) return "ended";
      connection.onHeard();
      push(decoder.decode(value, { stream: true }));
    }
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return "signed_out";
    return error instanceof ApiError && error.code === "live_full" ? "full" : "ended";
  } finally {
    attempt.abort();
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}

/** @throws Error when the promise is not settled in time. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error("the stream is silent")), ms);
  });
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
