import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** Whether a program is on this machine. */
async function hasProgram(name: string, args: readonly string[] = ["--version"]): Promise<boolean> {
  return promisify(execFile)(name, args).then(
    () => true,
    () => false,
  );
}

/** Why strace cannot be used here; undefined when it can. Containers often forbid it. */
export async function straceUnavailable(): Promise<string | undefined> {
  if (!(await hasProgram("strace", ["-V"]))) return "strace is not installed";
  return (await hasProgram("strace", ["-f", "-o", "/dev/null", "true"])) ? undefined : "strace may not trace here";
}

/** Why no file system can be mounted here; undefined when one can. */
export async function mountUnavailable(): Promise<string | undefined> {
  if (process.platform !== "linux") return "only Linux has tmpfs";
  return process.getuid?.() === 0 ? undefined : "only root may mount a small file system";
}
