import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { Pool } from "undici";
import { webhookHeaders } from "../src/simulator/wire.ts";
import type { Operation } from "./history.ts";
import type { TorturePost } from "./posts.ts";

/** How a POST was answered, in the words of the history. */
export type Answer = Pick<Operation, "type" | "status" | "error" | "receipt">;

export interface PostClient {
  /** Makes one POST, signed now. Never throws. */
  post(post: TorturePost, signal: AbortSignal): Promise<Answer>;
  close(): Promise<void>;
}

/** What SendGrid waits for an answer is not published; its users report 10 s. */
const ANSWER_MS_MAX = 10_000;

/** @param origin of the service; @param connections at most. */
export function createPostClient(origin: string, privateKey: KeyObject, connections: number): PostClient {
  const pool = new Pool(origin, { connections, pipelining: 1 });
  /** Made for this client and known to nobody. */
  const forger = generateKeyPairSync("ec", { namedCurve: "prime256v1" }).privateKey;
  return {
    async post({ body, forged }, signal) {
      const timestamp = String(Math.floor(Date.now() / 1000));
      try {
        const response = await pool.request({
          method: "POST",
          path: "/webhooks/sendgrid/simulation",
          headers: webhookHeaders(forged ? forger : privateKey, body, timestamp),
          body,
          headersTimeout: ANSWER_MS_MAX,
          bodyTimeout: ANSWER_MS_MAX,
          signal,
        });
        return read(response.statusCode, await response.body.text());
      } catch (error) {
        return { type: "info", error: describe(error) };
      }
    },
    close: () => pool.destroy(),
  };
}

function read(status: number, text: string): Answer {
  const body = parse(text);
  const receipt = body?.["receipt"];
  // A 2xx without a receipt in it says nothing that could be looked for.
  if (status >= 200 && status < 300) {
    return typeof receipt === "string"
      ? { type: "ok", status, receipt }
      : { type: "info", status, error: "no receipt" };
  }
  const refusal = body?.["error"];
  const code = isObject(refusal) && typeof refusal["code"] === "string" ? refusal["code"] : "no code";
  // Only a 503 leaves it open whether the POST was kept.
  return { type: status === 503 ? "info" : "fail", status, error: code };
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
