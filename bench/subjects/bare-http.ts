import { join } from "node:path";
import { startChild } from "../child.ts";
import type { Subject } from "./subject.ts";

export const BARE_HTTP: Subject = {
  name: "limit-http",
  label: "limit (d): bare node:http",
  async start() {
    const child = await startChild<{ kind: "address" }, string>(join(import.meta.dirname, "bare-http-process.ts"));
    return {
      url: await child.ask({ kind: "address" }),
      pids: [child.pid],
      check: async () => [],
      stop: async () => child.stop(),
    };
  },
};
