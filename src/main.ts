import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { loadConfig, type Config } from "./config.ts";
import { UsageError } from "./errors.ts";
import { STOP_MS_MAX } from "./limits.ts";
import { createLog, type Log } from "./log.ts";
import { startService, type Service } from "./service.ts";
import { StartInterrupted } from "./waiting-room.ts";

/** What is off, and how to turn it on, in one line. */
function whatIsOff(config: Config): string | undefined {
  const off = [
    config.SENDGRID_WEBHOOK_PUBLIC_KEY === undefined && !config.HOLDFAST_ALLOW_UNSIGNED
      ? "SendGrid's webhooks (set SENDGRID_WEBHOOK_PUBLIC_KEY)"
      : undefined,
    config.SENDGRID_API_KEY === undefined ? "enrichment (set SENDGRID_API_KEY)" : undefined,
  ].filter((line) => line !== undefined);
  return off.length === 0 ? undefined : off.join(", ");
}

function announce(config: Config, service: Service): void {
  const base = config.HOLDFAST_PUBLIC_URL ?? service.url;
  const off = whatIsOff(config);
  const lines = [
    "",
    "  Holdfast is ready.",
    ...(service.loginUrl === undefined ? [] : [`  page     ${service.loginUrl}`]),
    ...(config.HOLDFAST_ROLES.has("intake") ? [`  webhook  ${base}/webhooks/sendgrid`] : []),
    ...(off === undefined ? [] : [`  off      ${off}`]),
    "",
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
}

/** Runs the service until SIGTERM or SIGINT: the command `holdfast start`. */
export async function runService(): Promise<void> {
  let config: Config;
  let log: Log;
  let service: Service;
  try {
    config = loadConfig();
    log = createLog(config.HOLDFAST_LOG_LEVEL);
    service = await startService(config, log);
  } catch (error) {
    if (error instanceof StartInterrupted) return;
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`holdfast: ${error.message}\n`);
    process.exitCode = 2;
    return;
  }
  // For the commands that work beside a running service. Readable by its owner only: it leads into the database.
  const serviceFile = join(config.HOLDFAST_DATA_DIR, "service.json");
  const { url, loginUrl, databaseUrl } = service;
  await writeFile(serviceFile, JSON.stringify({ url, pid: process.pid, adminLink: loginUrl, databaseUrl }), {
    mode: 0o600,
  });
  announce(config, service);

  let stopping = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, "stopping");
    const deadline = setTimeout(() => {
      log.error("the stop took too long and was cut short; what was acknowledged is in the database");
      process.exit(1);
    }, STOP_MS_MAX);
    void rm(serviceFile, { force: true })
      .then(() => service.stop())
      .then(() => {
        clearTimeout(deadline);
        log.info("stopped");
      });
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
}

if (import.meta.main) await runService();
