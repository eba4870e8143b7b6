import { OIDC_NAME_CHARS_MAX } from "../limits.ts";
import type { OidcRoles } from "../oidc-settings.ts";
import type { TokenRole } from "./contract.ts";
import { OIDC_PREFIX, ROLES } from "./tokens.ts";

/** What the identity provider says of a person. Anything may stand in it. */
export type Claims = Readonly<Record<string, unknown>>;

/** The highest role that one of the claim's values gives; undefined when none does. */
export function roleOf(claims: Claims, claim: string, roles: OidcRoles): TokenRole | undefined {
  const values = valuesOf(claims, claim);
  return ROLES.findLast((role) => roles.get(role)?.some((value) => values.includes(value)) === true);
}

/** A claim's texts. A name with dots is first taken as it stands, since names may be addresses, and then as a path. */
export function valuesOf(claims: Claims, claim: string): string[] {
  const found = Object.hasOwn(claims, claim) ? claims[claim] : lookUp(claims, claim.split("."));
  const list: unknown[] = Array.isArray(found) ? found : [found];
  return list.filter((value) => typeof value === "string");
}

function lookUp(claims: Claims, path: readonly string[]): unknown {
  let found: unknown = claims;
  for (const step of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, step)) return undefined;
    found = (found as Claims)[step];
  }
  return found;
}

/**
 * The name that stands in the access log: `sso: Ada Lovelace (ada@example.com)`. People can often choose their name at the
 * provider, so it begins with what no token's name may begin with.
 */
export function nameOf(claims: Claims): string {
  const name = textOf(claims["name"]) ?? textOf(claims["preferred_username"]);
  const address = textOf(claims["email"]);
  const shown = name === undefined ? address : name + (address === undefined ? "" : ` (${address})`);
  const whole = OIDC_PREFIX + (shown ?? textOf(claims["sub"]) ?? "");
  return Array.from(whole).slice(0, OIDC_NAME_CHARS_MAX).join("").trim();
}

/** In one line: no control characters, and no lone surrogates, which PostgreSQL cannot hold. */
function textOf(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const line = value
    .toWellFormed()
    .replaceAll(/[\p{Cc}\s]+/gu, " ")
    .trim();
  return line === "" ? undefined : line;
}

/** The person's number at the provider, which stays when names change: it is written down with the sign-in. */
export function subjectOf(claims: Claims): string {
  return textOf(claims["sub"]) ?? "";
}
