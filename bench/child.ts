import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";

/** A process of this harness that does what it is told and answers: one order at a time. */
export interface Child<Order, Answer> {
  pid: number;
  ask<T extends Answer = Answer>(order: Order): Promise<T>;
  /** Ends it and waits until it is gone. */
  stop(): Promise<void>;
}

/** Starts `file`, which calls `serveOrders`, with the Node of this process. */
export async function startChild<Order extends object, Answer>(file: string): Promise<Child<Order, Answer>> {
  const child: ChildProcess = fork(file, { serialization: "advanced", stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const ended = once(child, "exit").then(([code, signal]: unknown[]) => String(signal ?? code));
  await Promise.race([once(child, "message"), ended.then((how) => failEnded(file, how))]);
  return {
    pid: child.pid ?? 0,
    async ask<T extends Answer>(order: Order) {
      const answer = once(child, "message").then(([message]: unknown[]) => message as Reply<T>);
      child.send(order);
      const reply = await Promise.race([answer, ended.then((how) => failEnded(file, how))]);
      if (reply.kind === "failed") throw new Error(`${file}: ${reply.reason}`);
      return reply.answer;
    },
    async stop() {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
      await ended;
    },
  };
}

type Reply<T> = { kind: "done"; answer: T } | { kind: "failed"; reason: string };

function failEnded(file: string, how: string): never {
  throw new Error(`${file} ended by itself with ${how}`);
}

/** In the child: handles orders until the parent ends it, or ends itself. `handle` says by its type which orders it takes. */
export function serveOrders(handle: (order: never) => Promise<unknown>): void {
  const reply = (message: unknown): void => void process.send?.(message);
  process.on("message", (order) => {
    void (async () => handle(order as never))().then(
      (answer) => reply({ kind: "done", answer }),
      (error: unknown) =>
        reply({ kind: "failed", reason: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    );
  });
  process.on("disconnect", () => process.exit(0));
  reply("ready");
}
