import { createHash, createPublicKey, generateKeyPairSync, sign, verify } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { seedReceipt, seedSource } from "../../test/seed.ts";
import { viewsApp, type ViewsApp } from "../../test/views-app.ts";
import { packBody } from "../receipt-body.ts";
import { packSignature } from "../receipt-signature.ts";
import type { ErrorBody } from "./contract.ts";

const BODY = Buffer.from(`[${'{"event":"open","email":"ü@example.com"},\r\n'.repeat(40)}{"event":"open"}]\r\n`);

describe("GET /api/receipts/:id/body", () => {
  let db: TestDatabase;
  let views: ViewsApp;

  beforeAll(async () => {
    db = await testDatabase();
    views = await viewsApp(db);
    const source = await seedSource(db.pool, "default");
    const keys = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
    const key = keys.publicKey.export({ format: "der", type: "spki" });
    const stored = await db.pool.query<{ id: number }>(
      "INSERT INTO source_keys (source, public_key) VALUES ($1, $2) RETURNING id",
      [source, key],
    );
    const signature = sign("sha256", Buffer.concat([Buffer.from("1767225600"), BODY]), keys.privateKey);
    const { codec, bytes, body } = packBody(BODY);
    expect(codec).toBeGreaterThan(0);
    const packed = packSignature(signature.toString("base64"));
    await db.pool.query(
      `INSERT INTO receipts (id, received_at, source, key, signed_at, signature, signature_bytes, sha256, codec, bytes, body)
       VALUES (7, now(), $1, $2, '1767225600', $3, $4, $5, $6, $7, $8)`,
      [
        source,
        stored.rows[0]?.id,
        packed.signature,
        packed.signatureBytes,
        createHash("sha256").update(BODY).digest(),
        codec,
        bytes,
        body,
      ],
    );
    await seedReceipt(db.pool, { id: 8, source, signed: false });
  });
  afterAll(async () => {
    await views.close();
    await db.drop();
  });

  it("gives the bytes as they came, and all that a third party needs to check SendGrid's signature", async () => {
    const { rawPayload, headers, statusCode } = await views.as("compliance", { url: "/api/receipts/7/body" });
    expect(statusCode).toBe(200);
    expect(rawPayload.equals(BODY)).toBe(true);
    expect(headers["content-type"]).toBe("application/octet-stream");
    expect(headers["x-holdfast-sha256"]).toBe(createHash("sha256").update(rawPayload).digest("hex"));
    const header = (name: string): string => String(headers[name]);
    const key = createPublicKey({
      key: Buffer.from(header("x-holdfast-public-key"), "base64"),
      format: "der",
      type: "spki",
    });
    const timestamp = header("x-twilio-email-event-webhook-timestamp");
    const signature = Buffer.from(header("x-twilio-email-event-webhook-signature"), "base64");
    expect(verify("sha256", Buffer.concat([Buffer.from(timestamp), rawPayload]), key, signature)).toBe(true);
  });

  it("is written down each time, with who took which", async () => {
    await views.as("compliance", { url: "/api/receipts/7/body" });
    await views.as("compliance", { url: "/api/receipts/7/body" });
    const { rows } = await db.pool.query("SELECT subject FROM access_log WHERE action = 'receipt.take'");
    expect(rows.length).toBeGreaterThanOrEqual(2);
    expect(rows[0]).toEqual({ subject: "7" });
  });

  it("is not for support: a POST holds the events of many people", async () => {
    const answer = await views.get("/api/receipts/7/body");
    expect([answer.statusCode, answer.json<ErrorBody>().error.code]).toEqual([403, "role_too_low"]);
  });

  it("of an unsigned POST has no signature headers", async () => {
    const { headers, statusCode } = await views.as("compliance", { url: "/api/receipts/8/body" });
    expect(statusCode).toBe(200);
    expect(Object.keys(headers).filter((name) => /signature|public-key/.test(name))).toEqual([]);
  });

  it.each(["9", "0", "-1", "x", "1e3", "99999999999999999999"])("of %s, which is no receipt, is a 404", async (id) => {
    const answer = await views.as("admin", { url: `/api/receipts/${id}/body` });
    expect(answer.statusCode).toBe(404);
    expect(answer.json<ErrorBody>().error.code).toBe("receipt_unknown");
  });
});
