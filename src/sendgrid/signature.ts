import { createPublicKey, createVerify, sign, verify, type KeyObject } from "node:crypto";
import { atEndOfTurn } from "../at-end-of-turn.ts";

/**
 * SendGrid's Signed Event Webhook: ECDSA on P-256 with SHA-256 over the timestamp header's characters followed by the
 * raw bytes of the body. Source: SendGrid's Event Webhook security documentation; checked against the official
 * `@sendgrid/eventwebhook` in signature.test.ts.
 */
export const SIGNATURE_HEADER = "x-twilio-email-event-webhook-signature";
export const TIMESTAMP_HEADER = "x-twilio-email-event-webhook-timestamp";

const SIGNATURE_FORM = /^[A-Za-z0-9+/]{8,}={0,2}$/;

export interface PublicKey {
  /** SubjectPublicKeyInfo, DER: what is stored, and what makes two keys the same. */
  der: Buffer;
  key: KeyObject;
}

/**
 * Reads public keys as people paste them: bare base64 as SendGrid shows it, or PEM, with any spaces and line breaks,
 * several separated by commas or, for PEM, just following each other.
 *
 * @throws Error saying which key (counted from 1) is wrong and why.
 */
export function parsePublicKeys(text: string): PublicKey[] {
  const parts = text
    .replaceAll(/-----BEGIN [A-Z ]+-----/g, ",")
    .replaceAll(/-----END [A-Z ]+-----/g, ",")
    // A PEM that went through an environment file often has its line breaks as the two characters \n.
    .replaceAll("\\n", "")
    .replaceAll(/\s/g, "")
    .split(",")
    .filter((part) => part !== "");
  if (parts.length === 0) throw new Error("holds no key");
  return parts.map((part, index) => {
    try {
      return parsePublicKey(part);
    } catch (error) {
      throw new Error(`key ${index + 1} ${error instanceof Error ? error.message : "is wrong"}`, { cause: error });
    }
  });
}

function parsePublicKey(base64: string): PublicKey {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) throw new Error("is not base64");
  let key: KeyObject;
  try {
    key = createPublicKey({ key: Buffer.from(base64, "base64"), format: "der", type: "spki" });
  } catch (error) {
    throw new Error("is not a public key (it should begin with MFkwEwYHKoZIzj0C)", { cause: error });
  }
  if (key.asymmetricKeyType !== "ec" || key.asymmetricKeyDetails?.namedCurve !== "prime256v1") {
    throw new Error("is not an ECDSA key on the curve P-256");
  }
  return { key, der: key.export({ format: "der", type: "spki" }) };
}

/** The form SendGrid shows: base64 of the DER, in one line. */
export function publicKeyText(key: KeyObject): string {
  return key.export({ format: "der", type: "spki" }).toString("base64");
}

/** Whether `signature` (base64 of an ASN.1 DER pair r, s) was made by `key` for these bytes. Never throws on bad input. */
export function verifySignature(key: KeyObject, timestamp: string, body: Buffer, signature: string): boolean {
  if (!SIGNATURE_FORM.test(signature)) return false;
  try {
    // Both parts as they are: put together for the one-shot verify every body is copied, 0.2 ms more for 500 events.
    return createVerify("sha256").update(timestamp, "latin1").update(body).verify(key, signature, "base64");
  } catch {
    return false;
  }
}

/**
 * The same for bytes that stand in one piece, timestamp first, on a thread of Node's pool: the event loop is busy with one event for
 * 16 µs instead of 75, and with 500 for as long as it takes to copy them.
 */
export async function verifySignatureAside(key: KeyObject, signed: Buffer, signature: string): Promise<boolean> {
  if (!SIGNATURE_FORM.test(signature)) return false;
  return new Promise((resolve, reject) => {
    const start = (): void => {
      // An error of the check itself is a signature that is none.
      verify("sha256", signed, key, Buffer.from(signature, "base64"), (error, isGood) => {
        resolve(error === null && isGood);
      });
    };
    asked.push({ start, reject });
    startAskedSoon();
  });
}

/**
 * The checks that the event loop's turn asked for. They are handed over together at its end: one by one, a thread was done with the
 * last and asleep again when the next came, and each had to wake it. 2 to 5 % less of the processor for POSTs of one and of ten events.
 */
const asked: { start: () => void; reject: (error: unknown) => void }[] = [];

const startAskedSoon = atEndOfTurn(() => {
  for (const { start, reject } of asked.splice(0)) {
    try {
      start();
    } catch (error) {
      reject(error);
    }
  }
});

/** The signature header's value for a body, as SendGrid makes it. */
export function signBody(privateKey: KeyObject, timestamp: string, body: Buffer): string {
  return sign("sha256", Buffer.concat([Buffer.from(timestamp, "latin1"), body]), privateKey).toString("base64");
}
