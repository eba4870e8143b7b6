import { createSecretKey, generateKeyPairSync } from "node:crypto";
import { EventWebhook } from "@sendgrid/eventwebhook";
import { describe, expect, test } from "vitest";
import { parsePublicKeys, publicKeyText, signBody, verifySignature, verifySignatureAside } from "./signature.ts";

const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const timestamp = "1764511327";

/** Bodies that lose their signature as soon as a byte is changed on the way. */
const bodies = [
  ["one event and its CRLF", '[{"event":"open"}]\r\n'],
  ["several events, a CRLF between", '[{"event":"open"},\r\n{"event":"click"}]\r\n'],
  ["other scripts", '[{"name":"Zoë 日本 😀"}]\r\n'],
  ["nothing", ""],
] as const;

describe("a signature", () => {
  test.each(bodies)("over %s is the one that SendGrid's own library accepts", (_what, text) => {
    const body = Buffer.from(text);
    const signature = signBody(privateKey, timestamp, body);
    const official = new EventWebhook();
    const officialKey = official.convertPublicKeyToECDSA(publicKeyText(publicKey));
    expect(official.verifySignature(officialKey, text, signature, timestamp)).toBe(true);
    expect(verifySignature(publicKey, timestamp, body, signature)).toBe(true);
    expect(verifySignature(publicKey, timestamp, Buffer.from(`${text} `), signature)).toBe(false);
  });

  test.each([0, 3, 300_000])("over %d bytes is judged beside the event loop as it is on it", async (bytes) => {
    const body = Buffer.alloc(bytes, 0xff);
    const signature = signBody(privateKey, timestamp, body);
    const judged = (at: string, signed: Buffer): Promise<boolean> =>
      verifySignatureAside(publicKey, Buffer.concat([Buffer.from(at), signed]), signature);
    expect(await judged(timestamp, body)).toBe(true);
    expect(await judged("1764511328", body)).toBe(false);
    expect(await judged(timestamp, Buffer.alloc(bytes + 1, 0xff))).toBe(false);
  });

  test("is judged by itself, however many are asked about at once, and whatever is wrong with one", async () => {
    const signed = Buffer.from(`${timestamp}[]`);
    const good = signBody(privateKey, timestamp, Buffer.from("[]"));
    const bad = signBody(privateKey, timestamp, Buffer.from("[ ]"));
    const secret = createSecretKey(Buffer.alloc(32));
    const judged = Array.from({ length: 100 }, async (_, n) =>
      n === 50
        ? verifySignatureAside(secret, signed, good).catch(() => "no such key")
        : verifySignatureAside(publicKey, signed, n % 3 === 0 ? bad : good),
    );
    const expected = Array.from({ length: 100 }, (_, n) => (n === 50 ? "no such key" : n % 3 !== 0));
    expect(await Promise.all(judged)).toEqual(expected);
  });

  test("over bytes that are not UTF-8 is verified too, since nothing is decoded", () => {
    const body = Buffer.from([0xff, 0xfe, 0x00]);
    expect(verifySignature(publicKey, timestamp, body, signBody(privateKey, timestamp, body))).toBe(true);
  });

  test.each(["", "MEU=", "not base64", "AAAAAAAAAAAAAAAA", Buffer.from("3006020100020100", "hex").toString("base64")])(
    "of the form %j is false, never an exception",
    async (signature) => {
      expect(verifySignature(publicKey, timestamp, Buffer.from("[]"), signature)).toBe(false);
      expect(await verifySignatureAside(publicKey, Buffer.from(`${timestamp}[]`), signature)).toBe(false);
    },
  );

  test("still verifies with a key that was read back from the text people paste", () => {
    const [key] = parsePublicKeys(`-----BEGIN PUBLIC KEY-----\n${publicKeyText(publicKey)}\n-----END PUBLIC KEY-----`);
    const body = Buffer.from("[]");
    expect(key !== undefined && verifySignature(key.key, timestamp, body, signBody(privateKey, timestamp, body))).toBe(
      true,
    );
  });
});
