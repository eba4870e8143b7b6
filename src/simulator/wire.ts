import type { KeyObject } from "node:crypto";
import { signBody, SIGNATURE_HEADER, TIMESTAMP_HEADER } from "../sendgrid/signature.ts";
import { HUGE_NUMBER_MARK, INVALID_UTF8_MARK } from "./poison.ts";
import type { WireEvent } from "./truth.ts";

const MARK_BYTES = Buffer.from(INVALID_UTF8_MARK);
const INVALID_BYTES = Buffer.from([0xff, 0xfe, 0xfd]);

/** An item as SendGrid writes it: keys sorted, no spaces, `<` and `>` as they are. */
export function encodeItem(event: WireEvent): string {
  return JSON.stringify(sortKeys(event)).replaceAll(`"${HUGE_NUMBER_MARK}"`, "123456789012345678901234567890");
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== "object" || value === null) return value;
  // fromEntries defines its keys, so that one named __proto__ becomes a key like any other.
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => [key, sortKeys(member)]),
  );
}

/** A POST's body as SendGrid writes it: a line break after every item's comma, and one at the end. */
export function encodeBody(items: readonly string[]): Buffer {
  return encodeText(`[${items.join(",\r\n")}]\r\n`);
}

/** Any text as bytes, with what stands for invalid UTF-8 made so. */
export function encodeText(text: string): Buffer {
  const body = Buffer.from(text);
  if (!text.includes(INVALID_UTF8_MARK)) return body;
  for (let at = body.indexOf(MARK_BYTES); at !== -1; at = body.indexOf(MARK_BYTES, at)) INVALID_BYTES.copy(body, at);
  return body;
}

/** The headers of a POST, signed now. `timestamp` is the POST's time in Unix seconds, not an event's. */
export function webhookHeaders(privateKey: KeyObject, body: Buffer, timestamp: string): Record<string, string> {
  return {
    "user-agent": "SendGrid Event API",
    "content-type": "application/json;charset=utf-8",
    "accept-encoding": "gzip",
    [SIGNATURE_HEADER]: signBody(privateKey, timestamp, body),
    [TIMESTAMP_HEADER]: timestamp,
  };
}
