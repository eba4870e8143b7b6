import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The checkout. Node has import.meta.dirname since 20.11 only. */
// oxlint-disable-next-line unicorn/prefer-import-meta-properties
export const ROOT = realpathSync(join(dirname(fileURLToPath(import.meta.url)), "../.."));

/** Something a person must mend; its message says what, in one line. */
export class SetupFailed extends Error {
  /**
   * @param {string} message
   * @param {number} [exitCode]
   */
  constructor(message, exitCode = 1) {
    super(message);
    this.name = "SetupFailed";
    this.exitCode = exitCode;
  }
}

/** This process was asked to end while it set up. */
export class Interrupted extends Error {
  /** @param {NodeJS.Signals} signal */
  constructor(signal) {
    super(signal);
    this.name = "Interrupted";
    this.signal = signal;
  }
}

/** @param {string} line */
export function say(line) {
  console.error(`holdfast: ${line}`);
}
