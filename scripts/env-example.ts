/**
 * Writes .env.example from the table of settings: `npm run env-example`. With --check it writes nothing and exits with 1
 * when the file is not what it would write.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SETTINGS } from "../src/config.ts";
import { firstDifference } from "./text.ts";

const FILE = join(import.meta.dirname, "../.env.example");

const HEADER = `# Every setting of Holdfast. Copy what you need to .env, or set it in the environment, which goes before .env.
# All are off here: what stands after = is the default. Made by \`npm run env-example\` from src/config.ts.
`;

const example = [HEADER, ...Object.entries(SETTINGS).map(([name, setting]) => describe(name, setting))].join("\n");
if (process.argv.includes("--check")) {
  const written = await readFile(FILE, "utf8").catch(() => "");
  if (written !== example) {
    console.error(
      `.env.example is not what src/config.ts says: run \`npm run env-example\`.\n${firstDifference(written, example)}`,
    );
    process.exitCode = 1;
  }
} else {
  await writeFile(FILE, example);
}

function describe(name: string, setting: { description: string; default?: string; secret?: boolean }): string {
  const secret = setting.secret === true ? " Secret." : "";
  return `# ${setting.description}${secret}\n#${name}=${setting.default ?? ""}\n`;
}
