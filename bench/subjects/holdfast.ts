import { join } from "node:path";
import type { Bench } from "../context.ts";
import { startProfile } from "../profile.ts";
import { checkEvents, checkReceipts, drained } from "./ledger.ts";
import { ROOT, startService } from "./service.ts";
import type { Running, Subject } from "./subject.ts";

export const ALL_ROLES = "intake,projector,enrichment,views,maintenance";

export interface HoldfastOptions {
  name: string;
  label: string;
  roles: string;
  /** Default: this checkout. */
  root?: string;
}

export interface RunningHoldfast extends Running {
  databaseUrl: string;
  /** Of the service itself, without its database. */
  servicePid: number;
  apiUrl: string;
  token: string;
}

/** Holdfast on a fresh database of the benchmark's PostgreSQL. */
export function holdfast(bench: Bench, options: HoldfastOptions): Subject {
  const { name, label, roles, root = ROOT } = options;
  return {
    name,
    label,
    async start() {
      const { server } = bench;
      const database = name.replaceAll("-", "_");
      const databaseUrl = await server.create(database);
      const running = await serve(bench, { name, databaseUrl, roles, root });
      return {
        ...running,
        async stop() {
          try {
            await running.stop();
          } finally {
            await server.drop(database);
          }
        },
      };
    },
  };
}

export interface ServeOptions {
  name: string;
  databaseUrl: string;
  roles: string;
  root?: string;
  settings?: Record<string, string>;
  /** False: it only fills a database, and is not worth a profile. */
  isMeasured?: boolean;
}

/** Holdfast on a database that is there, and stays. */
export async function serve(bench: Bench, options: ServeOptions): Promise<RunningHoldfast> {
  const { name, databaseUrl, roles, root = ROOT, settings = {}, isMeasured = true } = options;
  const { flags, folder, key, server } = bench;
  const isProjecting = roles.includes("projector");
  const profile =
    flags.profile === undefined || !isMeasured ? undefined : await startProfile(flags.profile, name, server);
  const service = await startService({
    root,
    databaseUrl,
    roles,
    dataDir: join(folder, "services", name),
    publicKey: key.publicKeyText,
    settings: { ...flags.settings, ...settings },
    nodeArgs: profile?.nodeArgs ?? [],
  });
  return {
    url: `${service.url}/webhooks/sendgrid`,
    apiUrl: service.url,
    token: service.token,
    pids: [service.pid, await server.pid()],
    servicePid: service.pid,
    databaseUrl,
    ...(isProjecting ? { drained: async () => drained(databaseUrl) } : {}),
    async check(acknowledged) {
      const wrong = await checkReceipts(databaseUrl, acknowledged, 0);
      if (isProjecting) {
        await drained(databaseUrl);
        wrong.push(...(await checkEvents(databaseUrl, acknowledged, 0)));
      }
      return [...wrong, ...service.errors()];
    },
    async stop() {
      await profile?.readStatements();
      await service.stop();
      await profile?.print();
    },
  };
}
