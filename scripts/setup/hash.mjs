import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { ROOT } from "./root.mjs";

/**
 * The files of a folder and of those in it, sorted, without tests.
 *
 * @param {string} folder
 */
export function filesIn(folder) {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((file) => !/\.test\.tsx?$/u.test(file) && statSync(file).isFile())
    .sort();
}

/**
 * A hash over the names and contents of files of the checkout; one that is not there counts as empty.
 *
 * @param {string[]} files
 */
export function hashFiles(files) {
  const hash = createHash("sha256");
  for (const file of files) {
    const content = existsSync(file) ? readFileSync(file) : Buffer.alloc(0);
    hash.update(`${relative(ROOT, file)}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex");
}
