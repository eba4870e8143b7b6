/** Who may do what on the page, from the least to the most. */
const VIEWER_ROLES = ["support", "compliance", "admin"] as const;
type ViewerRole = (typeof VIEWER_ROLES)[number];

/** The values of the role claim that give each role. */
export type OidcRoles = ReadonlyMap<ViewerRole, readonly string[]>;

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** The issuer as it stands in the provider's metadata: whether it ends with a slash matters. */
export function oidcIssuer(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && LOOPBACK.has(url.hostname));
  // Whoever reads or changes what goes to and from the provider can sign in as anybody.
  if (!isSafe) throw new Error("must be an address beginning with https://");
  if (url.search !== "" || url.hash !== "" || url.username !== "" || url.password !== "")
    throw new Error("must be an address without a query, a fragment or a password");
  return value;
}

/** The name of a claim. */
export function oidcClaim(value: string): string {
  if (value.length > 200 || /\s/.test(value)) throw new Error("must be the name of a claim, without blanks");
  return value;
}

/** `admin=VALUE,VALUE;support=VALUE`. The values are compared exactly; blanks inside them count. */
export function oidcRoles(value: string): OidcRoles {
  const found = new Map<ViewerRole, readonly string[]>();
  for (const entry of value.split(";").filter((part) => part.trim() !== "")) {
    const [, name, list = ""] = /^\s*([a-z]+)\s*=([\s\S]*)$/.exec(entry) ?? [];
    const role = VIEWER_ROLES.find((candidate) => candidate === name);
    const values = list
      .split(",")
      .map((each) => each.trim())
      .filter((each) => each !== "");
    if (role === undefined || values.length === 0)
      throw new Error(`must look like admin=VALUE,VALUE;support=VALUE with the roles ${VIEWER_ROLES.join(", ")}`);
    if (found.has(role)) throw new Error(`names the role ${role} twice`);
    found.set(role, values);
  }
  if (found.size === 0) throw new Error("must give at least one role");
  return found;
}

/** All of them or none: with a part of them nobody could sign in. */
const TOGETHER = [
  "HOLDFAST_OIDC_ISSUER",
  "HOLDFAST_OIDC_CLIENT_ID",
  "HOLDFAST_OIDC_CLIENT_SECRET",
  "HOLDFAST_OIDC_ROLES",
] as const;

/** What is wrong with a configuration of which only a part is there. */
export function missingOidcSettings(env: Record<string, string | undefined>): string[] {
  const isSet = (name: string): boolean => env[name] !== undefined && env[name] !== "";
  const given = [...TOGETHER, "HOLDFAST_OIDC_ROLE_CLAIM"].filter((name) => isSet(name));
  if (given.length === 0) return [];
  return TOGETHER.filter((name) => !isSet(name)).map((name) => `${name} is missing: ${given[0]} needs it`);
}
