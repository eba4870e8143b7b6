import { LOGIN_LINK_MINUTES } from "../limits.ts";
import { lockTransaction } from "../postgres/advisory-lock.ts";
import type { Pool } from "../postgres/pool.ts";
import { transaction } from "../postgres/transaction.ts";
import { CONFIGURED_ADMIN, hashToken, insertToken, LIVE, LOGIN_LINK, newToken } from "./tokens.ts";

const FIRST_ADMIN = "first admin";

/** `token` is there only when one was made now: it cannot be shown again. */
export interface AdminState {
  created: boolean;
  token?: string;
}

/**
 * Makes sure that somebody can get in: with the configured admin token, or else with one that is made when there is no
 * valid admin token at all. A configured token that changed, or is no longer configured, stops working with its sessions.
 */
export async function ensureAdmin(pool: Pool, configuredToken: string | undefined): Promise<AdminState> {
  return transaction(pool, async (tx) => {
    await lockTransaction(tx, "tokens");
    const hash = configuredToken === undefined ? null : hashToken(configuredToken);
    const known = await tx.query(
      `SELECT FROM tokens WHERE hash = $1 AND kind = 'api' AND role = 'admin' AND name = $2 AND ${LIVE}`,
      [hash, CONFIGURED_ADMIN],
    );
    if (known.rowCount === 1) return { created: false };
    await tx.query("UPDATE tokens SET revoked_at = now() WHERE name = $1 AND revoked_at IS NULL", [CONFIGURED_ADMIN]);
    if (hash !== null) {
      await tx.query(
        `INSERT INTO tokens (hash, kind, role, name) VALUES ($1, 'api', 'admin', $2)
         ON CONFLICT (hash) DO UPDATE
         SET kind = 'api', role = 'admin', name = excluded.name, expires_at = NULL, revoked_at = NULL`,
        [hash, CONFIGURED_ADMIN],
      );
      return { created: true };
    }
    const admins = await tx.query(`SELECT FROM tokens WHERE kind = 'api' AND role = 'admin' AND ${LIVE} LIMIT 1`);
    if (admins.rowCount === 1) return { created: false };
    const token = newToken();
    await insertToken(tx, { name: FIRST_ADMIN, role: "admin", kind: "api", token });
    return { created: true, token };
  });
}

/** Makes the token of a login link: it opens one session as admin, within LOGIN_LINK_MINUTES. */
export async function createLoginLink(pool: Pool): Promise<string> {
  const token = newToken();
  await insertToken(pool, { name: LOGIN_LINK, role: "admin", kind: "link", token, minutes: LOGIN_LINK_MINUTES });
  return token;
}
