import { createPublicKey, type KeyObject } from "node:crypto";
import { createAppender } from "../src/intake/append.ts";
import { registerSources } from "../src/intake/sources.ts";
import { createLog } from "../src/log.ts";
import type { Pool } from "../src/postgres/pool.ts";
import type { LearntDictionary } from "../src/receipt-body.ts";
import { parsePublicKeys, publicKeyText, signBody } from "../src/sendgrid/signature.ts";

/** Appends a body (or items, as JSON) as a receipt, by the real appender. */
export type ReceiptWriter = (body: Buffer | readonly unknown[]) => Promise<number>;

export interface ReceiptWriterOptions {
  /** The private key that signs; without it receipts are unsigned. */
  signWith?: KeyObject;
  /** When a receipt arrives; now unless said otherwise. */
  receivedAt?: () => Date;
  /** What bodies are packed with. */
  dictionary?: () => LearntDictionary | undefined;
}

/** For tests of what comes after intake. */
export async function receiptWriter(
  pool: Pool,
  source = "default",
  options: ReceiptWriterOptions = {},
): Promise<ReceiptWriter> {
  const { signWith, receivedAt = () => new Date() } = options;
  const keys = signWith === undefined ? [] : parsePublicKeys(publicKeyText(createPublicKey(signWith)));
  const sources = await registerSources(pool, [{ name: source, simulated: false, keys, unsignedAllowed: true }]);
  const { id = 0, keys: registered = [] } = sources.get(source) ?? {};
  const appender = createAppender({ pool, log: createLog("silent"), dictionary: options.dictionary });
  return async (content) => {
    const body = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content));
    const signedAt = String(Math.floor(receivedAt().getTime() / 1000));
    const signature = signWith === undefined ? null : signBody(signWith, signedAt, body);
    const appended = await appender.append({
      source: id,
      key: registered[0]?.id ?? null,
      signedAt: signature === null ? null : signedAt,
      signature,
      body,
      receivedAt: receivedAt(),
    });
    if (appended.outcome !== "committed") throw new Error(`not appended: ${appended.outcome}`);
    return appended.receipt;
  };
}
