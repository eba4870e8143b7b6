/**
 * Loaded into a service before anything else (`node --import`): its clock is off by the milliseconds that stand in the
 * file TORTURE_CLOCK_FILE, read anew twice a second. Timers and performance.now() are not touched, as with a real jump.
 */
import { readFileSync } from "node:fs";

const READ_MS = 500;
const file = process.env["TORTURE_CLOCK_FILE"];
const RealDate = Date;
let offsetMs = 0;

function now(): number {
  return RealDate.now() + offsetMs;
}

function readOffset(): void {
  try {
    offsetMs = Number(readFileSync(file ?? "", "utf8"));
  } catch {
    offsetMs = 0;
  }
}

if (file !== undefined) {
  readOffset();
  setInterval(readOffset, READ_MS).unref();
  globalThis.Date = new Proxy(RealDate, {
    construct(target, args: unknown[], newTarget) {
      const date: unknown = Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget);
      return date as Date;
    },
    get(target, key): unknown {
      return key === "now" ? now : Reflect.get(target, key);
    },
  });
}
