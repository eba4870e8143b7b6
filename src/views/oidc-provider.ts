import type * as openid from "openid-client";
import type { Configuration, CustomFetch } from "openid-client";
import { OIDC_ANSWER_BYTES_MAX, OIDC_METADATA_MS, OIDC_REQUEST_MS_MAX, OIDC_RETRY_MS } from "../limits.ts";
import { type Claims, valuesOf } from "./oidc-claims.ts";
import type { Flow } from "./oidc-flow.ts";

export interface OidcSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
  roleClaim: string;
}

/** Why it came to nothing. `cause` is a word for the log: nothing of the provider's or the person's own. */
export interface OidcFault {
  outcome: "away" | "refused" | "failed";
  cause: string;
}

export interface OidcProvider {
  /** Whether the provider answers. Asks it at most once in OIDC_METADATA_MS, and again OIDC_RETRY_MS after a failure. */
  isThere(): Promise<boolean>;
  /** The address at the provider where the person signs in, and what has to be known at the end. */
  begin(
    callback: string,
  ): Promise<{ outcome: "begun"; url: string; flow: Pick<Flow, "state" | "nonce" | "verifier"> } | OidcFault>;
  /** Exchanges the code for what the provider says of the person. `query` is what the person came back with. */
  finish(flow: Flow, query: string): Promise<{ outcome: "known"; claims: Claims } | OidcFault>;
}

interface Found {
  config: Configuration;
  atMs: number;
}

/** The identity provider of the settings, through openid-client, which is loaded only where this is called. */
export async function createOidcProvider(settings: OidcSettings, now: () => number = Date.now): Promise<OidcProvider> {
  const client = await import("openid-client");
  let found: Found | undefined;
  let failed: { fault: OidcFault; atMs: number } | undefined;
  let asking: Promise<Configuration | OidcFault> | undefined;

  const ask = async (): Promise<Configuration | OidcFault> => {
    try {
      const config = await discover(client, settings);
      found = { config, atMs: now() };
      failed = undefined;
      return config;
    } catch (error) {
      failed = { fault: { ...faultOf(client, error), outcome: "away" }, atMs: now() };
      return failed.fault;
    } finally {
      asking = undefined;
    }
  };
  const look = async (): Promise<Configuration | OidcFault> => {
    if (found !== undefined && failed === undefined && now() - found.atMs < OIDC_METADATA_MS) return found.config;
    if (failed !== undefined && now() - failed.atMs < OIDC_RETRY_MS) return failed.fault;
    asking ??= ask();
    return asking;
  };

  return {
    isThere: async () => !isFault(await look()),
    async begin(callback) {
      const config = await look();
      if (isFault(config)) return config;
      const flow = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
      };
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri: callback,
        scope: scopeFor(config, settings.roleClaim),
        state: flow.state,
        nonce: flow.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(flow.verifier),
        code_challenge_method: "S256",
      });
      return { outcome: "begun", url: url.href, flow };
    },
    async finish(flow, query) {
      // What it said of itself may be old by now; whether it is there shows in the exchange.
      const config = found?.config ?? (await look());
      if (isFault(config)) return config;
      try {
        const tokens = await client.authorizationCodeGrant(config, new URL(flow.callback + query), {
          expectedState: flow.state,
          expectedNonce: flow.nonce,
          pkceCodeVerifier: flow.verifier,
          idTokenExpected: true,
        });
        const claims: Claims = tokens.claims() ?? {};
        if (!isUserInfoNeeded(config, claims, settings.roleClaim)) return { outcome: "known", claims };
        const more = await client.fetchUserInfo(config, tokens.access_token, String(claims["sub"]));
        return { outcome: "known", claims: { ...more, ...claims } };
      } catch (error) {
        return faultOf(client, error);
      }
    },
  };
}

type Client = typeof openid;

async function discover(client: Client, settings: OidcSettings): Promise<Configuration> {
  const { issuer, clientId, clientSecret } = settings;
  const basic = client.ClientSecretBasic(clientSecret);
  const post = client.ClientSecretPost(clientSecret);
  return client.discovery(
    new URL(issuer),
    clientId,
    undefined,
    (server, metadata, body, headers) => {
      // Without a list the standard means Basic.
      const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
      const authenticate = methods.includes("client_secret_basic") ? basic : post;
      authenticate(server, metadata, body, headers);
    },
    {
      [client.customFetch]: fetchBounded,
      timeout: OIDC_REQUEST_MS_MAX / 1000,
      // The signature is checked too, not only that the answer came through the provider's TLS.
      execute: [
        client.enableNonRepudiationChecks,
        // oxlint-disable-next-line typescript/no-deprecated -- Marked so that it stands out; oidcIssuer lets http pass for loopback only.
        ...(issuer.startsWith("http:") ? [client.allowInsecureRequests] : []),
      ],
    },
  );
}

/** An answer without an end must not fill the memory. */
const fetchBounded: CustomFetch = async (url, options) => {
  const response = await fetch(url, options as RequestInit);
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of (response.body as AsyncIterable<Uint8Array> | null) ?? []) {
    bytes += part.byteLength;
    if (bytes > OIDC_ANSWER_BYTES_MAX) throw new TooLargeError();
    parts.push(part);
  }
  const body = parts.length === 0 ? null : Buffer.concat(parts);
  const { status, statusText, headers } = response;
  if (status >= 500) throw new ProviderError(status);
  return new Response(body, { status, statusText, headers });
};

class TooLargeError extends Error {
  override readonly name = "TooLargeError";
}

/** The provider itself fails. */
class ProviderError extends Error {
  override readonly name = "ProviderError";

  constructor(status: number) {
    super(`status ${status}`);
  }
}

/** Providers tell more by scopes; one that they do not know can make them refuse. */
function scopeFor(config: Configuration, roleClaim: string): string {
  const known = config.serverMetadata().scopes_supported ?? ["profile", "email"];
  return ["openid", ...["profile", "email", roleClaim].filter((scope) => known.includes(scope))].join(" ");
}

/** Some providers tell only who it is in the ID token, and the rest on demand. */
function isUserInfoNeeded(config: Configuration, claims: Claims, roleClaim: string): boolean {
  if (config.serverMetadata().userinfo_endpoint === undefined) return false;
  const hasName = "name" in claims || "email" in claims;
  return valuesOf(claims, roleClaim).length === 0 || !hasName;
}

function isFault(value: Configuration | OidcFault): value is OidcFault {
  return "outcome" in value;
}

/** Codes of openid-client, and of OAuth, are plain words; whatever else stands in an error stays out of the log. */
const PLAIN_WORD = /^[A-Za-z_]{1,60}$/;

function faultOf(client: Client, error: unknown): OidcFault {
  if (error instanceof client.AuthorizationResponseError) {
    const cause = PLAIN_WORD.test(error.error) ? error.error : "unknown error";
    return { outcome: error.error === "access_denied" ? "refused" : "failed", cause };
  }
  if (error instanceof client.ResponseBodyError)
    return { outcome: "failed", cause: PLAIN_WORD.test(error.error) ? error.error : "unknown error" };
  const inner = error instanceof Error ? error.cause : undefined;
  const isAway = error instanceof ProviderError || inner instanceof ProviderError;
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
  const isNetwork = isAway || code === "OAUTH_TIMEOUT" || !code.startsWith("OAUTH_");
  return { outcome: isNetwork ? "away" : "failed", cause: PLAIN_WORD.test(code) ? code : causeOf(error) };
}

/** The innermost error knows: no connection, a status, too large an answer. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  if (error.cause instanceof Error) return causeOf(error.cause);
  if (error instanceof ProviderError) return error.message;
  return "code" in error && typeof error.code === "string" && PLAIN_WORD.test(error.code) ? error.code : error.name;
}
