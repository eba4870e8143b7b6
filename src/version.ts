import { readFileSync } from "node:fs";
import { join } from "node:path";

const packageFile: unknown = JSON.parse(readFileSync(join(import.meta.dirname, "../package.json"), "utf8"));

/** The version of package.json. */
export const VERSION = readVersion(packageFile);

function readVersion(content: unknown): string {
  if (typeof content === "object" && content !== null && "version" in content && typeof content.version === "string") {
    return content.version;
  }
  throw new Error("package.json has no version");
}
