import { createHash, randomBytes } from "node:crypto";
import { ENDED_TOKEN_DAYS, SESSION_HOURS } from "../limits.ts";
import { lockTransaction } from "../postgres/advisory-lock.ts";
import type { Pool, Queryable } from "../postgres/pool.ts";
import { transaction } from "../postgres/transaction.ts";
import type { TokenRole } from "./contract.ts";

/** Whoever a valid token or session stands for. */
export interface Viewer {
  token: number;
  name: string;
  role: TokenRole;
}

export const ROLES: readonly TokenRole[] = ["support", "compliance", "admin"];

/** Whether `role` may do what needs `needed`: each role may also do what the ones before it may. */
export function roleSuffices(role: TokenRole, needed: TokenRole): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

/**
 * Tokens are 256 random bits, so their plain SHA-256 can neither be guessed nor searched, and comparing hashes by index
 * tells an attacker nothing about the token. The prefix lets secret scanners find one that was pasted somewhere.
 */
export function newToken(): string {
  return `hf_${randomBytes(32).toString("base64url")}`;
}

export function hashToken(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** The condition for a token that is neither revoked nor expired. */
export const LIVE = "revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())";

/** The condition for one whose end has come by itself. */
const EXPIRED = "revoked_at IS NULL AND expires_at <= now()";

/** Who an API token (Bearer) or a session (cookie) stands for; undefined when it is unknown, expired or revoked. */
export async function findViewer(pool: Pool, kind: "api" | "session", token: string): Promise<Viewer | undefined> {
  const found = await pool.query<Viewer & { unused: boolean }>({
    name: "find viewer",
    text: `SELECT id AS token, name, role, used_at IS NULL OR used_at < now() - interval '1 hour' AS unused
     FROM tokens WHERE hash = $1 AND kind = $2 AND ${LIVE}`,
    values: [hashToken(token), kind],
  });
  const [row] = found.rows;
  if (row === undefined) return undefined;
  // Written once an hour: enough to see which tokens are still in use, without an update for every request.
  if (row.unused) await pool.query("UPDATE tokens SET used_at = now() WHERE id = $1", [row.token]);
  return { token: row.token, name: row.name, role: row.role };
}

/** Whether this was a valid API token until its time was over. Whoever holds it may be told. */
export async function isExpired(pool: Pool, token: string): Promise<boolean> {
  const found = await pool.query(`SELECT FROM tokens WHERE hash = $1 AND kind = 'api' AND ${EXPIRED}`, [
    hashToken(token),
  ]);
  return found.rowCount === 1;
}

/** Of these token numbers, those that are still valid. */
export async function stillLive(pool: Pool, tokens: readonly number[]): Promise<Set<number>> {
  const live = await pool.query<{ id: number }>(`SELECT id FROM tokens WHERE id = ANY ($1) AND ${LIVE}`, [tokens]);
  return new Set(live.rows.map(({ id }) => id));
}

export interface NewSession {
  viewer: Viewer;
  /** The session's own token, for the cookie. */
  token: string;
}

/**
 * Exchanges an API token, or a login link's token, for a session of SESSION_HOURS, which ends no later than the API token
 * does. A link works once: of two that try at the same time, one gets in.
 */
export async function signIn(pool: Pool, token: string): Promise<NewSession | undefined> {
  return transaction(pool, async (tx) => {
    const found = await tx.query<{ name: string; role: TokenRole; endsAt: Date | null }>(
      `UPDATE tokens SET used_at = now()
       WHERE hash = $1 AND ${LIVE} AND (kind = 'api' OR (kind = 'link' AND used_at IS NULL))
       RETURNING name, role, CASE WHEN kind = 'api' THEN expires_at END AS "endsAt"`,
      [hashToken(token)],
    );
    const [owner] = found.rows;
    return owner === undefined ? undefined : insertSession(tx, owner);
  });
}

/** Opens a session of SESSION_HOURS for a person whom somebody else has made sure of. */
export async function openSession(pool: Pool, person: TokenOptions): Promise<NewSession> {
  return transaction(pool, async (tx) => insertSession(tx, { ...person, endsAt: null }));
}

async function insertSession(tx: Queryable, owner: TokenOptions & { endsAt: Date | null }): Promise<NewSession> {
  const { name, role, endsAt } = owner;
  const token = newToken();
  const id = await insertToken(tx, { name, role, kind: "session", token, minutes: SESSION_HOURS * 60, endsAt });
  await deleteEnded(tx);
  return { viewer: { token: id, name, role }, token };
}

export async function endSession(pool: Pool, viewer: Viewer): Promise<void> {
  await pool.query("UPDATE tokens SET revoked_at = now() WHERE id = $1 AND kind = 'session' AND revoked_at IS NULL", [
    viewer.token,
  ]);
}

export interface TokenRow {
  id: number;
  kind: "api" | "link" | "session";
  name: string;
  role: TokenRole;
  createdAt: Date;
  expiresAt: Date | null;
  usedAt: Date | null;
  /** Its time is over; it is still listed, so that one can see why its holder is refused. */
  ended: boolean;
}

/** All that are valid now, and the API tokens that expired in the last ENDED_TOKEN_DAYS. The tokens themselves are not known any more. */
export async function listTokens(pool: Pool): Promise<TokenRow[]> {
  const result = await pool.query<TokenRow>(
    `SELECT id, kind, name, role, created_at AS "createdAt", expires_at AS "expiresAt", used_at AS "usedAt",
       coalesce(expires_at <= now(), false) AS ended
     FROM tokens
     WHERE (${LIVE} AND NOT (kind = 'link' AND used_at IS NOT NULL))
       OR (kind = 'api' AND ${EXPIRED} AND expires_at > now() - make_interval(days => ${ENDED_TOKEN_DAYS}))
     ORDER BY id`,
  );
  return result.rows;
}

/** The name of the token that HOLDFAST_ADMIN_TOKEN configures. */
export const CONFIGURED_ADMIN = "HOLDFAST_ADMIN_TOKEN";
/** The name of whoever came by a login link. */
export const LOGIN_LINK = "login link";
const RESERVED_NAMES: ReadonlySet<string> = new Set([CONFIGURED_ADMIN, LOGIN_LINK]);
/** Begins the names of those who came through the identity provider, and of nobody else. */
export const OIDC_PREFIX = "sso: ";

export interface TokenOptions {
  name: string;
  role: TokenRole;
}

export interface NewTokenOptions extends TokenOptions {
  /** Valid for so many days; left out, until it is ended. */
  days?: number | undefined;
}

export type CreatedToken = { outcome: "created"; id: number; token: string } | { outcome: "name_taken" };

/** Makes an API token; it is shown this once. A name belongs to one valid token, since its sessions are known by it. */
export async function createToken(pool: Pool, options: NewTokenOptions): Promise<CreatedToken> {
  const { name, role, days } = options;
  return transaction(pool, async (tx) => {
    await lockTransaction(tx, "tokens");
    const taken = await tx.query(`SELECT FROM tokens WHERE name = $1 AND kind = 'api' AND ${LIVE}`, [name]);
    const isReserved = RESERVED_NAMES.has(name) || name.startsWith(OIDC_PREFIX.trim());
    if (taken.rowCount !== 0 || isReserved) return { outcome: "name_taken" };
    const token = newToken();
    const minutes = days === undefined ? {} : { minutes: days * 24 * 60 };
    return { outcome: "created", id: await insertToken(tx, { name, role, kind: "api", token, ...minutes }), token };
  });
}

/** Ends a token, and with an API token all sessions opened with it. @returns how many were ended; 0 for an unknown one. */
export async function revokeToken(pool: Pool, id: number): Promise<number> {
  const revoked = await pool.query(
    `WITH named AS (SELECT id, kind, name FROM tokens WHERE id = $1 AND ${LIVE})
     UPDATE tokens SET revoked_at = now() FROM named
     WHERE tokens.revoked_at IS NULL
       AND (tokens.id = named.id OR (named.kind = 'api' AND tokens.kind = 'session' AND tokens.name = named.name))`,
    [id],
  );
  return revoked.rowCount ?? 0;
}

/** Inserts a token of any kind, valid for `minutes` or for ever, and no longer than until `endsAt`. @returns its number. */
export async function insertToken(
  tx: Queryable,
  row: TokenOptions & { kind: TokenRow["kind"]; token: string; minutes?: number; endsAt?: Date | null },
): Promise<number> {
  // `least` takes no notice of a NULL.
  const inserted = await tx.query<{ id: number }>(
    `INSERT INTO tokens (hash, kind, role, name, expires_at)
     VALUES ($1, $2, $3, $4, least(now() + make_interval(mins => $5), $6::timestamptz)) RETURNING id`,
    [hashToken(row.token), row.kind, row.role, row.name, row.minutes ?? null, row.endsAt ?? null],
  );
  const [created] = inserted.rows;
  if (created === undefined) throw new Error("the token was not inserted");
  return created.id;
}

/** Every sign-in leaves a row; without this they would grow for ever. */
async function deleteEnded(tx: Queryable): Promise<void> {
  await tx.query(
    `DELETE FROM tokens WHERE kind IN ('link', 'session') AND expires_at < now() - make_interval(days => ${ENDED_TOKEN_DAYS})`,
  );
}
