import { createHmac } from "node:crypto";
import type { AlertReceiver } from "../config.ts";

export interface AlertNews {
  alert: number;
  state: "opened" | "resolved";
  kind: string;
  source: string;
  count: number;
  since: string;
  sentence: string;
}

/** What a receiver is called where people see it; its address is a secret. `index` is its place in the settings, from 0. */
export function receiverName({ form }: AlertReceiver, index: number): string {
  return `${form} receiver ${index + 1}`;
}

/**
 * The request that tells a receiver. `slack` gets a text in the form that Slack and its likes take; `standard` gets the
 * news as JSON, signed by the Standard Webhooks scheme (standardwebhooks.com): HMAC-SHA-256 over id, timestamp and body.
 * `id` is the same for every try, so that a receiver can drop what it has.
 */
export function requestOf(
  receiver: AlertReceiver,
  news: AlertNews,
  options: { id: string; secret: string | undefined; now: Date },
): RequestInit {
  const json = { "content-type": "application/json" };
  if (receiver.form === "slack") {
    const mark = news.state === "opened" ? "Holdfast" : "Holdfast, resolved";
    return { method: "POST", headers: json, body: JSON.stringify({ text: `${mark}: ${news.sentence}` }) };
  }
  const timestamp = String(Math.floor(options.now.getTime() / 1000));
  const body = JSON.stringify({ type: `alert.${news.state}`, timestamp: options.now.toISOString(), data: news });
  const signed = { "webhook-id": options.id, "webhook-timestamp": timestamp };
  if (options.secret === undefined) return { method: "POST", headers: { ...json, ...signed }, body };
  const key = Buffer.from(options.secret.replace(/^whsec_/, ""), "base64");
  const signature = createHmac("sha256", key).update(`${options.id}.${timestamp}.${body}`).digest("base64");
  return { method: "POST", headers: { ...json, ...signed, "webhook-signature": `v1,${signature}` }, body };
}
