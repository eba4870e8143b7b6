import * as allLimits from "../limits.ts";
import type { App } from "./app.ts";
import { requireRole } from "./auth.ts";
import { SystemSchema, type System } from "./contract-settings.ts";
import { ErrorSchema } from "./contract.ts";
import type { ViewDeps } from "./deps.ts";

/** Adds `GET /api/system`: what Holdfast runs on and within which bounds. */
export function addSystemRoute(app: App, { pool, read, version }: ViewDeps): void {
  app.get(
    "/api/system",
    {
      onRequest: requireRole(pool, "admin"),
      schema: {
        summary: "Versions, the database's durability settings with a verdict each, and every limit.",
        tags: ["settings"],
        response: { 200: SystemSchema, default: ErrorSchema },
      },
    },
    async () => {
      const { rows } = await read((tx) =>
        tx.query<{ name: string; setting: string }>(
          "SELECT name, setting FROM pg_settings WHERE name = ANY ($1) ORDER BY name",
          [["server_version", ...Object.keys(GOOD)]],
        ),
      );
      const settings = new Map(rows.map(({ name, setting }) => [name, setting]));
      return {
        versions: { holdfast: version, node: process.version, postgres: settings.get("server_version") ?? "" },
        durability: Object.keys(GOOD).map((name) => judge(name, settings.get(name) ?? "")),
        limits: listLimits(),
      };
    },
  );
}

type Verdict = System["durability"][number]["verdict"];

/** What each setting must not be, and how bad that is. `health/durability.ts` judges by the same rules for the alert. */
const GOOD: Readonly<Record<string, { bad: string; verdict: Verdict }>> = {
  fsync: { bad: "off", verdict: "unsafe" },
  synchronous_commit: { bad: "off", verdict: "unsafe" },
  full_page_writes: { bad: "off", verdict: "weak" },
  data_checksums: { bad: "off", verdict: "weak" },
};

function judge(name: string, value: string): System["durability"][number] {
  const rule = GOOD[name];
  return { name, value, verdict: rule !== undefined && rule.bad === value ? rule.verdict : "good" };
}

function listLimits(): System["limits"] {
  const entries: [string, unknown][] = Object.entries(allLimits);
  return entries.flatMap(([name, value]) => flatten(name, value)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** A number, a list of them, or a list of records of them, which becomes one line for each of their fields. */
function flatten(name: string, value: unknown): System["limits"] {
  const values: unknown[] = Array.isArray(value) ? value : [value];
  if (values.every((each) => typeof each === "number")) return [{ name, values }];
  const records = values as Record<string, number>[];
  return Object.keys(records[0] ?? {}).map((field) => ({
    name: `${name}.${field}`,
    values: records.map((record) => record[field] ?? 0),
  }));
}
