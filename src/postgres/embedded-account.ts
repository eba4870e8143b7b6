import { spawn } from "node:child_process";
import { readFile, stat } from "node:fs/promises";
import { UsageError } from "../errors.ts";

/** A user of the system, in the form `spawn` takes. */
export interface Account {
  uid: number;
  gid: number;
}

/**
 * Who runs the server. PostgreSQL refuses root, so for root it is whoever owns the cluster already, else `postgres`, else
 * `nobody`. Undefined for everybody else: they run it themselves.
 *
 * @throws UsageError when root finds neither user in /etc/passwd (`initdb` needs an entry there).
 */
export async function serverAccount(cluster: string): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = await stat(cluster).catch(() => undefined);
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const passwd = await readFile("/etc/passwd", "utf8");
  for (const name of ["postgres", "nobody"]) {
    const [, uid, gid] = new RegExp(`^${name}:[^:]*:(-?\\d+):(-?\\d+):`, "m").exec(passwd) ?? [];
    if (uid !== undefined && gid !== undefined) return { uid: unsigned(uid), gid: unsigned(gid) };
  }
  throw new UsageError(
    "PostgreSQL does not run as root, and there is no user postgres or nobody to run it. Start Holdfast as an ordinary user, or set DATABASE_URL.",
  );
}

/** macOS writes the numbers of nobody as -2. */
function unsigned(id: string): number {
  return (Number(id) + 2 ** 32) % 2 ** 32;
}

/** Whether `account` may pass into a folder. The system is asked, since it knows about access lists and mounts. */
export async function canEnter(folder: string, account: Account): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn("/bin/sh", ["-c", 'cd -- "$1"', "sh", folder], { ...account, cwd: "/", stdio: "ignore" });
    child.on("error", () => resolve(false));
    child.on("exit", (code) => resolve(code === 0));
  });
}
