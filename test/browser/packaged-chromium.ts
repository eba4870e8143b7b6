import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const ROOT = join(import.meta.dirname, "../..");
const CACHE = join(ROOT, "node_modules/.cache/holdfast");

export interface PackagedChromium {
  executable: string;
  /** The shared libraries that the package brings for systems without them. */
  libraries: string;
}

/**
 * Unpacks the Chromium of the npm package @sparticuz/chromium, with the libraries beside it, into a folder of this
 * checkout. The package itself unpacks into the system's temporary folder and takes whatever it finds there, also what
 * another run is just writing; here a finished folder gets its name in one step.
 */
export async function unpackChromium(): Promise<PackagedChromium> {
  if (process.platform !== "linux") throw new Error(`@sparticuz/chromium has no browser for ${process.platform}`);
  const content: unknown = JSON.parse(
    await readFile(join(ROOT, "node_modules/@sparticuz/chromium/package.json"), "utf8"),
  );
  const folder = join(CACHE, `chromium-${(content as { version: string }).version}`);
  if (!existsSync(folder)) {
    await mkdir(CACHE, { recursive: true });
    const unfinished = await mkdtemp(`${folder}.`);
    try {
      await unpackInto(unfinished);
      // Another run may have been quicker; its folder is as good.
      await rename(unfinished, folder).catch((error: unknown) => {
        if (!existsSync(folder)) throw error;
      });
    } finally {
      await rm(unfinished, { recursive: true, force: true });
    }
  }
  return { executable: join(folder, "chromium"), libraries: join(folder, "al2023/lib") };
}

/** In a process of its own, since the package looks at its environment when it is imported: where to, and what else to unpack. */
async function unpackInto(folder: string): Promise<void> {
  const script = "import chromium from '@sparticuz/chromium'; await chromium.executablePath();";
  await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: ROOT,
    env: { ...process.env, TMPDIR: folder, AWS_LAMBDA_JS_RUNTIME: "nodejs22.x" },
  });
}
