import { Argument, InvalidArgumentError, Option, type Command } from "commander";
import { loadConfig } from "../config.ts";
import { sqlState, UsageError } from "../errors.ts";
import { LOGIN_LINK_MINUTES, TOKEN_DAYS } from "../limits.ts";
import type { Pool } from "../postgres/pool.ts";
import { createLoginLink } from "../views/admin.ts";
import type { TokenRole } from "../views/contract.ts";
import { createToken, listTokens, revokeToken, ROLES, type TokenRow } from "../views/tokens.ts";
import { withLedgerPool } from "./ledger-pool.ts";
import { findRunningService } from "./running-service.ts";

const UNDEFINED_TABLE = "42P01";
const NAME_CHARS_MAX = 100;

export interface TokenCommandOptions {
  /** Gives the database; the default is the configured one. Tests give their own. */
  withPool?: <T>(work: (pool: Pool) => Promise<T>) => Promise<T>;
  print?: (text: string) => void;
}

interface Flags {
  json?: boolean;
}

type WithPool = NonNullable<TokenCommandOptions["withPool"]>;
type Print = NonNullable<TokenCommandOptions["print"]>;

/** Adds `token create | list | revoke | link` to the program. */
export function addTokenCommand(program: Command, options: TokenCommandOptions = {}): void {
  const withPool = explained(options.withPool ?? ((work) => withLedgerPool(loadConfig(), "holdfast token", work)));
  const print = options.print ?? ((text) => void process.stdout.write(`${text}\n`));
  const token = program.command("token").description("manage who may use the API and the page");
  addCreate(token, withPool, print);
  addList(token, withPool, print);
  addRevoke(token, withPool, print);
  addLink(token, withPool, print);
}

function addCreate(token: Command, withPool: WithPool, print: Print): void {
  token
    .command("create")
    .description("make an API token; it is shown this once")
    .addArgument(new Argument("<name>", "who or what it is for").argParser(parseName))
    .addOption(new Option("--role <role>", "what it may do").choices(ROLES).default("support"))
    .addOption(
      new Option("--days <days>", "how long it is valid")
        .choices(["never", ...TOKEN_DAYS.map(String)])
        .default("never"),
    )
    .option("--json", "print the result as JSON")
    .action(async (name: string, flags: Flags & { role: TokenRole; days: string }) => {
      const days = flags.days === "never" ? undefined : Number(flags.days);
      const made = await withPool((pool) => createToken(pool, { name, role: flags.role, days }));
      if (made.outcome === "name_taken")
        throw new UsageError(`there is a token named ${name} already: revoke it first`);
      const { id, token: text } = made;
      print(flags.json === true ? JSON.stringify({ id, name, role: flags.role, token: text }) : text);
    });
}

function addList(token: Command, withPool: WithPool, print: Print): void {
  token
    .command("list")
    .description("list the tokens, sessions and login links that are valid now, and tokens that expired lately")
    .option("--json", "print the result as JSON")
    .action(async (flags: Flags) => {
      const rows = await withPool(listTokens);
      if (flags.json === true) print(JSON.stringify(rows));
      else
        print(rows.length === 0 ? "There is no valid token." : [HEADINGS, ...rows.map(describe)].map(align).join("\n"));
    });
}

function addRevoke(token: Command, withPool: WithPool, print: Print): void {
  token
    .command("revoke")
    .description("end a token or session, and with a token all sessions opened with it")
    .addArgument(new Argument("<id>", "its number in the list").argParser(parseId))
    .option("--json", "print the result as JSON")
    .action(async (id: number, flags: Flags) => {
      const revoked = await withPool((pool) => revokeToken(pool, id));
      if (revoked === 0) throw new UsageError(`there is no valid token with the number ${id}`);
      print(flags.json === true ? JSON.stringify({ id, revoked }) : `Ended: ${revoked}.`);
    });
}

function addLink(token: Command, withPool: WithPool, print: Print): void {
  token
    .command("link")
    .description(`make a one-time login link for an admin, good for ${LOGIN_LINK_MINUTES} minutes`)
    .option("--json", "print the result as JSON")
    .action(async (flags: Flags) => {
      const config = loadConfig();
      const service = await findRunningService(config.HOLDFAST_DATA_DIR);
      const base = config.HOLDFAST_PUBLIC_URL ?? service?.url ?? `http://${config.HOST}:${config.PORT}`;
      const link = `${base}/login#${await withPool(createLoginLink)}`;
      print(flags.json === true ? JSON.stringify({ link }) : link);
    });
}

/** A database that no Holdfast has migrated yet has no tokens: say so instead of naming a table. */
function explained(withPool: WithPool): WithPool {
  return async (work) => {
    try {
      return await withPool(work);
    } catch (error) {
      if (sqlState(error) !== UNDEFINED_TABLE) throw error;
      throw new UsageError("the database is not migrated: run holdfast migrate or start first", { cause: error });
    }
  };
}

function parseName(text: string): string {
  const name = text.trim();
  // It stands in lists and in the access log, in one line.
  if (name === "" || name.length > NAME_CHARS_MAX || /\p{Cc}/u.test(name)) {
    throw new InvalidArgumentError(`must have 1 to ${NAME_CHARS_MAX} characters, none of them a control character`);
  }
  return name;
}

function parseId(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError("must be a number of the list");
  return Number(text);
}

const HEADINGS = ["id", "kind", "role", "name", "created", "last used", "expires"];
const WIDTHS = [6, 8, 11, 24, 18, 18, 18];

function describe(row: TokenRow): string[] {
  const time = (at: Date | null): string => (at === null ? "-" : at.toISOString().slice(0, 16).replace("T", " "));
  const expires = row.ended ? `${time(row.expiresAt)} (ended)` : time(row.expiresAt);
  return [String(row.id), row.kind, row.role, row.name, time(row.createdAt), time(row.usedAt), expires];
}

function align(cells: readonly string[]): string {
  return cells
    .map((cell, index) => cell.padEnd(WIDTHS[index] ?? 0))
    .join("  ")
    .trimEnd();
}
