/** Takes the README's pictures anew: `npm run screenshots` runs the browser test and keeps two of those it takes. */
import { spawnSync } from "node:child_process";
import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const KEPT = join(ROOT, "docs/screenshots");

const run = spawnSync(process.execPath, [join(ROOT, "scripts/test.ts"), "test/browser"], {
  cwd: ROOT,
  stdio: "inherit",
});
if (run.status === 0) {
  await mkdir(KEPT, { recursive: true });
  for (const page of ["live", "message"]) {
    await copyFile(join(ROOT, `artifacts/${page}-light-en-desktop.png`), join(KEPT, `${page}.png`));
  }
} else {
  process.exitCode = 1;
}
