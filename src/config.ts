import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { UsageError } from "./errors.ts";
import { API_CALLS_PER_MINUTE, ENRICH_SETTLE_SECONDS } from "./limits.ts";
import { missingOidcSettings, oidcClaim, oidcIssuer, oidcRoles } from "./oidc-settings.ts";

/** What one process does. All of them together is the default; several processes may share one PostgreSQL. */
export const ROLES = ["intake", "projector", "enrichment", "views", "maintenance"] as const;
export type Role = (typeof ROLES)[number];

interface Setting<T> {
  /** One sentence for `--help`, `.env.example` and the docs. */
  description: string;
  /** The default as a person would write it; undefined when unset means something of its own. */
  default?: string;
  /** Never shown in a message or a log line. */
  secret?: boolean;
  /** Turns the text into the value. Throws an Error whose message says what is accepted. */
  parse: (text: string) => T;
}

const text = (value: string): string => value;

function flag(value: string): boolean {
  if (value === "true") return true;
  if (value === "false") return false;
  throw new Error("must be true or false");
}

function integer(min: number, max: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < min || number > max)
      throw new Error(`must be a whole number from ${min} to ${max}`);
    return number;
  };
}

function oneOf<const T extends string>(choices: readonly T[]): (value: string) => T {
  return (value) => {
    const choice = choices.find((candidate) => candidate === value);
    if (choice === undefined) throw new Error(`must be one of ${choices.join(", ")}`);
    return choice;
  };
}

function httpUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new Error("must be an address beginning with http:// or https://");
  return value.replace(/\/+$/, "");
}

function databaseUrl(value: string): string {
  if (!/^postgres(ql)?:\/\//.test(value)) throw new Error("must be an address beginning with postgres://");
  return value;
}

function roles(value: string): ReadonlySet<Role> {
  const chosen = value.split(",").map((name) => oneOf(ROLES)(name.trim()));
  return new Set(chosen);
}

function path(value: string): string {
  return resolve(value);
}

function adminToken(value: string): string {
  if (value.length < 20) throw new Error("must have at least 20 characters");
  return value;
}

/** Somebody who is told about alerts, in a form that they understand. */
export interface AlertReceiver {
  form: "slack" | "standard";
  url: string;
}

function alertReceivers(value: string): readonly AlertReceiver[] {
  const entries = value.split(";").filter((entry) => entry.trim() !== "");
  return entries.map((entry) => {
    const [, form, url = ""] = /^\s*(slack|standard)=(https?:\/\/\S+)\s*$/.exec(entry) ?? [];
    if (!URL.canParse(url)) throw new Error("must look like slack=URL;standard=URL");
    return { form: form === "slack" ? "slack" : "standard", url };
  });
}

function alertSecret(value: string): string {
  if (!/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/.test(value))
    throw new Error("must be whsec_ followed by base64 of at least 24 bytes");
  return value;
}

/** `name=key,key;name=key`. The keys themselves are checked where they are used, with the source's name. */
function sources(value: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const entry of value.split(";").filter((part) => part.trim() !== "")) {
    const [, name, keys] = /^\s*([a-z0-9][a-z0-9_-]{0,62})\s*=([\s\S]*)$/.exec(entry) ?? [];
    if (name === undefined || keys === undefined)
      throw new Error("must look like name=key,key;name=key with names of a-z, 0-9, _ and -");
    if (name === "default" || name === "simulation")
      throw new Error(`must not name the source ${name}: it has a setting of its own`);
    if (found.has(name)) throw new Error(`names the source ${name} twice`);
    found.set(name, keys);
  }
  return found;
}

/** `source=subuser;source=subuser`. */
function subusers(value: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const entry of value.split(";").filter((part) => part.trim() !== "")) {
    const [, source, subuser] = /^\s*([a-z0-9][a-z0-9_-]{0,62})\s*=\s*(\S{1,64})\s*$/.exec(entry) ?? [];
    if (source === undefined || subuser === undefined) throw new Error("must look like source=subuser;source=subuser");
    if (found.has(source)) throw new Error(`names the source ${source} twice`);
    found.set(source, subuser);
  }
  return found;
}

function timeZone(value: string): string {
  try {
    // An offset has the other sign in PostgreSQL, and knows no summer time.
    if (!/^[A-Za-z]/.test(value)) throw new Error("no name");
    return new Intl.DateTimeFormat("en", { timeZone: value }).resolvedOptions().timeZone;
  } catch {
    throw new Error("must be a time zone of the IANA list, such as Europe/Berlin");
  }
}

/** The only list of settings. `.env.example` is checked against it. */
export const SETTINGS = {
  DATABASE_URL: {
    description: "The PostgreSQL (15 or newer) to use. Unset: the embedded one, with its data in HOLDFAST_DATA_DIR.",
    secret: true,
    parse: databaseUrl,
  },
  HOLDFAST_DATA_DIR: {
    description: "Where the embedded PostgreSQL, the spool and the simulator's key are kept.",
    default: "./data",
    parse: path,
  },
  HOST: { description: "The address to listen on. 0.0.0.0 for all.", default: "127.0.0.1", parse: text },
  PORT: { description: "The port to listen on. 0 takes a free one.", default: "8025", parse: integer(0, 65_535) },
  HOLDFAST_PUBLIC_URL: {
    description: "The address people and SendGrid use, when a proxy stands in front. Unset: http://HOST:PORT.",
    parse: httpUrl,
  },
  SENDGRID_WEBHOOK_PUBLIC_KEY: {
    description:
      "The verification key of the source default, as SendGrid shows it or as PEM; several separated by commas.",
    parse: text,
  },
  HOLDFAST_SOURCES: {
    description: "Further sources with their keys: name=key,key;name=key. Each has the path /webhooks/sendgrid/name.",
    parse: sources,
  },
  HOLDFAST_ALLOW_UNSIGNED: {
    description:
      "Accept POSTs without any signature on the source default. Anyone who finds the address can then write to the ledger.",
    default: "false",
    parse: flag,
  },
  SENDGRID_API_KEY: {
    description: "A key with the scope to read Email Activity or Email Logs. Unset: messages are not enriched.",
    secret: true,
    parse: text,
  },
  SENDGRID_API_URL: {
    description: "SendGrid's API. For EU accounts https://api.eu.sendgrid.com.",
    default: "https://api.sendgrid.com",
    parse: httpUrl,
  },
  HOLDFAST_ENRICHMENT_API: {
    description: "Which API to ask: auto (Email Logs, else Messages), logs, messages or off.",
    default: "auto",
    parse: oneOf(["auto", "logs", "messages", "off"]),
  },
  HOLDFAST_API_CALLS_PER_MINUTE: {
    description: "SendGrid's published limit is 6. Raise it only if SendGrid raised it for you.",
    default: String(API_CALLS_PER_MINUTE),
    parse: integer(1, 6_000),
  },
  HOLDFAST_ENRICHMENT_SETTLE_SECONDS: {
    description: "How long after its first event a message is asked for; SendGrid's API knows it after about a minute.",
    default: String(ENRICH_SETTLE_SECONDS),
    parse: integer(0, 86_400),
  },
  HOLDFAST_ENRICH_SIMULATED: {
    description:
      "Ask the API about simulated messages too. Only sensible when SENDGRID_API_URL is the simulator's double.",
    default: "false",
    parse: flag,
  },
  HOLDFAST_SUBUSERS: {
    description:
      "Which sources carry the events of subusers: source=subuser;source=subuser. All others belong to the account of the API key.",
    parse: subusers,
  },
  HOLDFAST_ACCOUNT_TIME_ZONE: {
    description: "The time zone of the SendGrid account, in which it counts its days, such as Europe/Berlin.",
    default: "UTC",
    parse: timeZone,
  },
  HOLDFAST_RECONCILE: {
    description:
      "The nightly check against SendGrid's records: repair (and file what is missing), check (only look) or off.",
    default: "repair",
    parse: oneOf(["repair", "check", "off"]),
  },
  HOLDFAST_SPOOL_MIB: {
    description: "How much may wait on disk while PostgreSQL is away, in MiB. Beyond it POSTs are only refused.",
    default: "10240",
    parse: integer(0, 1_048_576),
  },
  HOLDFAST_DISK_FREE_MIB: {
    description:
      "With less free space than this under HOLDFAST_DATA_DIR, POSTs are refused before PostgreSQL has to stop.",
    default: "512",
    parse: integer(0, 1_048_576),
  },
  HOLDFAST_ALLOW_UNSAFE: {
    description:
      "Start even on a PostgreSQL whose settings (fsync or synchronous_commit off) can lose what it committed.",
    default: "false",
    parse: flag,
  },
  HOLDFAST_ROLES: {
    description: "What this process does, separated by commas.",
    default: ROLES.join(","),
    parse: roles,
  },
  HOLDFAST_ADMIN_TOKEN: {
    description: "The admin's token. Unset: a one-time login link is printed at each start.",
    secret: true,
    parse: adminToken,
  },
  HOLDFAST_OIDC_ISSUER: {
    description: "Sign-in through your identity provider (OpenID Connect): its issuer. Unset: by token and link only.",
    parse: oidcIssuer,
  },
  HOLDFAST_OIDC_CLIENT_ID: { description: "What the identity provider calls Holdfast.", parse: text },
  HOLDFAST_OIDC_CLIENT_SECRET: {
    description: "The client's secret that the identity provider gave out.",
    secret: true,
    parse: text,
  },
  HOLDFAST_OIDC_ROLE_CLAIM: {
    description: "The claim that holds a person's groups or roles. A dot leads into an object: realm_access.roles.",
    default: "roles",
    parse: oidcClaim,
  },
  HOLDFAST_OIDC_ROLES: {
    description: "Which of the claim's values give which role: admin=VALUE,VALUE;compliance=VALUE;support=VALUE.",
    parse: oidcRoles,
  },
  HOLDFAST_ALERT_WEBHOOKS: {
    description: "Who is told about alerts: slack=URL;standard=URL, the latter in the Standard Webhooks form.",
    secret: true,
    parse: alertReceivers,
  },
  HOLDFAST_ALERT_SECRET: {
    description: "Signs what goes to receivers of the Standard Webhooks form: whsec_ and base64.",
    secret: true,
    parse: alertSecret,
  },
  HOLDFAST_LOG_LEVEL: {
    description: "fatal, error, warn, info, debug, trace or silent.",
    default: "info",
    parse: oneOf(["fatal", "error", "warn", "info", "debug", "trace", "silent"]),
  },
} as const satisfies Record<string, Setting<unknown>>;

type SettingName = keyof typeof SETTINGS;
type SettingValue<N extends SettingName> = (typeof SETTINGS)[N] extends { parse: (text: string) => infer T }
  ? (typeof SETTINGS)[N] extends { default: string }
    ? T
    : T | undefined
  : never;

export type Config = { readonly [N in SettingName]: SettingValue<N> };

/**
 * Reads the settings from an environment. An empty value counts as unset.
 *
 * @throws UsageError naming every wrong variable, and every unknown one that begins with HOLDFAST_.
 */
export function readConfig(env: Record<string, string | undefined>): Config {
  const faults: string[] = [];
  const config: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries<Setting<unknown>>(SETTINGS)) {
    const given = env[name] === undefined || env[name] === "" ? setting.default : env[name];
    if (given === undefined) {
      config[name] = undefined;
      continue;
    }
    try {
      config[name] = setting.parse(given);
    } catch (error) {
      faults.push(`${name} ${error instanceof Error ? error.message : "is wrong"}`);
    }
  }
  for (const name of Object.keys(env)) {
    if (name.startsWith("HOLDFAST_") && !(name in SETTINGS)) faults.push(`${name} is not a setting of Holdfast`);
  }
  faults.push(...missingOidcSettings(env));
  if (faults.length > 0) throw new UsageError(faults.join("\n"));
  return config as Config;
}

/** Reads `.env` of the working directory, if there is one, under the real environment, and then the settings. */
export function loadConfig(): Config {
  if (existsSync(".env")) process.loadEnvFile(".env");
  return readConfig(process.env);
}

/** This process's environment for another Holdfast: of the settings only those given here, neither ours nor an `.env` file's. */
export function environmentOf(settings: Partial<Record<SettingName, string>>): Record<string, string | undefined> {
  // Empty counts as unset, and a variable that is there keeps an .env file from setting it.
  const unset = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, ""]));
  return { ...process.env, ...unset, ...settings };
}
