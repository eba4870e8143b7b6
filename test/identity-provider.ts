import { generateKeyPairSync } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider, type Configuration } from "oidc-provider";
import { Agent, fetch, type Response } from "undici";

/** What the provider says of whoever signs in. */
export type Person = { sub: string } & Record<string, unknown>;

/** A real OpenID provider on a port of its own, at which whoever comes is the person that the test names. */
export interface IdentityProvider {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** Who signs in from now on; undefined: whoever comes refuses. */
  person: Person | undefined;
  /** Answers everything with 500, as a provider that is broken. */
  broken: boolean;
  /** Answers everything with so many bytes instead; 0: does not. */
  flood: number;
  /** The paths asked for so far. */
  asked: string[];
  /** Where it sends people back to from now on, instead of where it did before. */
  allow(redirectUri: string): void;
  /** Leaves its port; `start` takes it again. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export interface IdentityProviderOptions {
  redirectUris: string[];
  /** The ID token says only who it is; the rest is told on demand. */
  claimsOnDemand?: boolean;
  authMethod?: "client_secret_basic" | "client_secret_post";
}

export async function startIdentityProvider(options: IdentityProviderOptions): Promise<IdentityProvider> {
  const idp: IdentityProvider = {
    issuer: "",
    clientId: "holdfast",
    clientSecret: "a-client-secret-only-for-this-test",
    person: undefined,
    broken: false,
    flood: 0,
    asked: [],
    allow(redirectUri) {
      provider = new Provider(idp.issuer, configurationOf(idp, { ...options, redirectUris: [redirectUri] }));
    },
    stop: async () => closeServer(server),
    start: async () => {
      server = createServer(handle);
      await listen(server, Number(new URL(idp.issuer).port));
    },
  };
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    const { pathname } = new URL(request.url ?? "/", "http://idp.invalid");
    idp.asked.push(pathname);
    if (idp.broken) response.writeHead(500).end();
    else if (idp.flood > 0) response.end(Buffer.alloc(idp.flood, " "));
    else if (pathname.startsWith("/interaction/")) void interact({ idp, provider, request, response });
    else void provider.callback()(request, response);
  };
  let server = createServer(handle);
  await listen(server, 0);
  // By another name than the service's own, so that for a browser it is another site.
  idp.issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
  let provider = new Provider(idp.issuer, configurationOf(idp, options));
  return idp;
}

function configurationOf(idp: IdentityProvider, options: IdentityProviderOptions): Configuration {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const authMethod = options.authMethod ?? "client_secret_basic";
  return {
    clients: [
      {
        client_id: idp.clientId,
        client_secret: idp.clientSecret,
        redirect_uris: options.redirectUris,
        token_endpoint_auth_method: authMethod,
      },
    ],
    clientAuthMethods: [authMethod],
    jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), use: "sig", alg: "RS256", kid: "test" }] },
    cookies: { keys: ["a-cookie-key-only-for-this-test"] },
    claims: { openid: ["sub"], profile: ["name"], email: ["email"], roles: ["roles", "realm_access"] },
    conformIdTokenClaims: options.claimsOnDemand === true,
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
    pkce: { required: () => true },
    findAccount: (_context, sub) => ({ accountId: sub, claims: async () => ({ ...idp.person, sub }) }),
    ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
  };
}

interface Interaction {
  idp: IdentityProvider;
  provider: Provider;
  request: IncomingMessage;
  response: ServerResponse;
}

async function interact({ idp, provider, request, response }: Interaction): Promise<void> {
  if (idp.person === undefined) {
    await provider.interactionFinished(request, response, { error: "access_denied" });
    return;
  }
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  if (prompt.name === "login") {
    await provider.interactionFinished(request, response, { login: { accountId: idp.person.sub } });
    return;
  }
  const grant = new provider.Grant({ accountId: session?.accountId ?? "", clientId: String(params["client_id"]) });
  grant.addOIDCScope("openid profile email roles");
  await provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
}

async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

/** Each request on a connection of its own: servers here go and come on the same port. */
const unconnected = new Agent({ pipelining: 0 });

/** A browser in as far as the redirects of a sign-in need one: it keeps cookies per host and port, and says where it is. */
export class RedirectFollower {
  readonly #cookies = new Map<string, Map<string, string>>();

  /** One request; the answer is not followed. */
  async get(url: string): Promise<Response> {
    const { origin } = new URL(url);
    const jar = this.#cookies.get(origin) ?? new Map<string, string>();
    this.#cookies.set(origin, jar);
    const response = await fetch(url, {
      dispatcher: unconnected,
      redirect: "manual",
      headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join("; "), accept: "text/html" },
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];

      if (value === "" || /max-age=0|expires=Thu, 01 Jan 1970/i.test(line)) jar.delete(name);
      else jar.set(name, value);
    }
    return response;
  }

  /** Follows redirects until `stop` says so of the next address, or there is none. */
  async follow(url: string, stop: (next: URL) => boolean = () => false): Promise<{ url: string; response: Response }> {
    let at = url;
    for (let hop = 0; hop < 20; hop += 1) {
      const response = await this.get(at);
      const location = response.headers.get("location");
      if (location === null) return { url: at, response };
      await response.body?.cancel();
      const next = new URL(location, at);
      if (stop(next)) return { url: next.href, response };
      at = next.href;
    }
    throw new Error("too many redirects");
  }

  cookies(origin: string): Map<string, string> {
    return this.#cookies.get(origin) ?? new Map<string, string>();
  }
}
