import { once } from "node:events";
import { createWriteStream } from "node:fs";

/**
 * One line of a history, in the manner of Jepsen: `invoke` begins an operation, and `ok` (it happened), `fail` (it did not)
 * or `info` (nobody can tell: a refusal by 503 may yet be in the spool, a broken connection yet be committed) ends it.
 */
export interface Operation {
  type: "invoke" | "ok" | "fail" | "info";
  /** Who did it: a sender's number, or what stands beside the senders. */
  process: number | "nemesis" | "reader" | "service";
  timeMs: number;
  f: "post" | "fault" | "read" | "exit" | "settle";
  /** The number of the POST. */
  post?: number;
  /** Which service it went to or came from. */
  target?: string;
  receipt?: string;
  status?: number;
  /** The code of a refusal, or how the connection broke. */
  error?: string;
  value?: unknown;
}

export interface History {
  note(operation: Omit<Operation, "timeMs">): void;
  readonly operations: readonly Operation[];
  /** Milliseconds since the history began. */
  nowMs(): number;
  close(): Promise<void>;
}

/** `path`: also writes each operation there, as a line of JSON. */
export function createHistory(path?: string): History {
  const file = path === undefined ? undefined : createWriteStream(path, { flags: "wx" });
  const operations: Operation[] = [];
  const startedMs = performance.now();
  const nowMs = (): number => Math.round((performance.now() - startedMs) * 1000) / 1000;
  return {
    note(operation) {
      const timed = { ...operation, timeMs: nowMs() };
      operations.push(timed);
      file?.write(`${JSON.stringify(timed)}\n`);
    },
    operations,
    nowMs,
    async close() {
      if (file === undefined) return;
      file.end();
      await once(file, "close");
    },
  };
}
