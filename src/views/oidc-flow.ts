import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { OIDC_FLOW_SECONDS, OIDC_FLOWS_REMEMBERED_MAX, OIDC_NEXT_CHARS_MAX } from "../limits.ts";

/** One sign-in through the identity provider that is under way. It is kept in the person's browser, sealed. */
export interface Flow {
  state: string;
  nonce: string;
  /** PKCE: who took the code on its way cannot use it without this. */
  verifier: string;
  /** Where the identity provider sends the person back to: the same at the start and at the end. */
  callback: string;
  /** The place on the page that the person wanted. */
  next: string;
  expiresMs: number;
}

export const CALLBACK_PATH = "/login/oidc/callback";

export interface FlowSeal {
  /** For the cookie. */
  seal(flow: Omit<Flow, "expiresMs">): string;
  /** @returns undefined for one that is not ours, was changed, or is too old. */
  open(sealed: string): Flow | undefined;
  /** @returns false for one that came to its end before. */
  end(flow: Flow): boolean;
}

const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Seals flows with a key made of the client's secret, so that any process of the service can end what another began. That
 * a flow ends once is kept per process; between processes the provider sees to it, which takes each code once.
 */
export function createFlowSeal(clientSecret: string, now: () => number = Date.now): FlowSeal {
  const key = Buffer.from(hkdfSync("sha256", clientSecret, "", "holdfast oidc flow", 32));
  const ended = new Map<string, number>();
  return {
    seal(flow) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv("aes-256-gcm", key, iv);
      const text = JSON.stringify({ ...flow, expiresMs: now() + OIDC_FLOW_SECONDS * 1000 } satisfies Flow);
      const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString("base64url");
    },
    open(sealed) {
      const flow = unseal(key, Buffer.from(sealed, "base64url"));
      return flow === undefined || flow.expiresMs <= now() ? undefined : flow;
    },
    end({ state, expiresMs }) {
      if (ended.has(state)) return false;
      // In the order they ended, which is about that in which they expire.
      for (const [old, until] of ended) {
        if (until > now() && ended.size < OIDC_FLOWS_REMEMBERED_MAX) break;
        ended.delete(old);
      }
      ended.set(state, expiresMs);
      return true;
    },
  };
}

function unseal(key: Buffer, bytes: Buffer): Flow | undefined {
  if (bytes.length < IV_BYTES + TAG_BYTES) return undefined;
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    const text = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
    // What the seal holds was written by `seal`.
    return JSON.parse(text.toString("utf8")) as Flow;
  } catch {
    return undefined;
  }
}

/** A place on our own page; anything else becomes the first page, so that no link through the sign-in leads elsewhere. */
export function localPlace(next: string | undefined): string {
  if (next === undefined || next.length > OIDC_NEXT_CHARS_MAX || !/^\/(?![/\\])/.test(next)) return "/";
  // Browsers drop control characters from addresses, and take a backslash for a slash.
  if (/[\p{Cc}\\]/u.test(next) || !next.isWellFormed()) return "/";
  const { origin, pathname, search, hash } = new URL(next, "http://page.invalid");
  // What is no page would be opened without the session: the browser does not send it on the way back from the provider.
  if (origin !== "http://page.invalid" || /^\/(\/|login|api|webhooks)/.test(pathname)) return "/";
  return pathname + search + hash;
}

const LOOPBACK_HOST = /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/;

/**
 * Where the identity provider is to send people back to. Without HOLDFAST_PUBLIC_URL that is where the browser is now, but
 * only if it came by a loopback name or by the very address that the connection arrived at: a Host header can say anything.
 */
export function callbackFor(request: FastifyRequest, publicUrl: string | undefined): string | undefined {
  if (publicUrl !== undefined) return publicUrl + CALLBACK_PATH;
  const { localAddress = "", localPort = 0 } = request.socket;
  const address = localAddress.replace(/^::ffff:/, "");
  const own = `${address.includes(":") ? `[${address}]` : address}:${localPort}`;
  const { host } = request;
  return host === own || LOOPBACK_HOST.test(host) ? `http://${host}${CALLBACK_PATH}` : undefined;
}
