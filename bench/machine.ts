import { execFile } from "node:child_process";
import { availableParallelism, cpus, release, totalmem } from "node:os";
import { promisify } from "node:util";

/** Where a result was measured, as far as it explains the figures and names nobody. */
export interface Machine {
  cpu: string;
  cores: number;
  memoryGb: number;
  system: string;
  node: string;
}

export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 1e9),
    system: `${process.platform} ${release().split("-")[0] ?? ""}`,
    node: process.version.slice(1),
  };
}

/** What a program prints when it is run, or undefined where it is not there or fails. */
export async function says(program: string, ...args: string[]): Promise<string | undefined> {
  try {
    const { stdout, stderr } = await promisify(execFile)(program, args);
    return (stdout === "" ? stderr : stdout).trim();
  } catch {
    return undefined;
  }
}
