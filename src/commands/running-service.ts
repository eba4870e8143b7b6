import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** What a running service writes about itself into its data folder, for the commands beside it. */
export interface RunningService {
  url: string;
  pid: number;
  adminLink: string | undefined;
  databaseUrl: string | undefined;
}

/** The service that runs on this data folder, or undefined when none does. */
export async function findRunningService(dataDir: string): Promise<RunningService | undefined> {
  let text: string;
  try {
    text = await readFile(join(dataDir, "service.json"), "utf8");
  } catch {
    return undefined;
  }
  const value = parse(text);
  if (value === undefined || typeof value["url"] !== "string" || typeof value["pid"] !== "number") return undefined;
  // A service that was killed leaves its file behind.
  if (!isAlive(value["pid"])) return undefined;
  const { adminLink, databaseUrl } = value;
  return {
    url: value["url"],
    pid: value["pid"],
    adminLink: typeof adminLink === "string" ? adminLink : undefined,
    databaseUrl: typeof databaseUrl === "string" ? databaseUrl : undefined,
  };
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    // Half written: the service is just starting.
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
