import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../test/database.ts";
import { packSignature, SIGNATURE } from "./receipt-signature.ts";

let db: TestDatabase;

beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db.drop());

/** The headers that PostgreSQL makes of the two columns. */
async function readBack(headers: readonly (string | null)[]): Promise<(string | null)[]> {
  const packed = headers.map(packSignature);
  const { rows } = await db.pool.query<{ header: string | null }>(
    `SELECT ${SIGNATURE} AS header FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY AS r (signature, signature_bytes, place)
     ORDER BY place`,
    [packed.map(({ signature }) => signature), packed.map(({ signatureBytes }) => signatureBytes)],
  );
  return rows.map(({ header }) => header);
}

describe("a signature header", () => {
  it("comes out as it went in, whatever its characters are", async () => {
    const canonical = fc
      .uint8Array({ maxLength: 300, size: "max" })
      .map((bytes) => Buffer.from(bytes).toString("base64"));
    const nearly = fc.string({
      unit: fc.constantFrom("A", "z", "9", "+", "/", "=", "-", "_", " ", "é", "\n"),
      maxLength: 100,
    });
    const headers = fc.array(fc.option(fc.oneof(canonical, nearly, fc.string(), fc.base64String())), { minLength: 1 });
    await fc.assert(
      fc.asyncProperty(headers, async (given) => {
        expect(await readBack(given)).toEqual(given);
      }),
    );
  });

  it("as SendGrid makes it is kept as its bytes", () => {
    const bytes = randomBytes(71);
    expect(packSignature(bytes.toString("base64"))).toEqual({ signature: "", signatureBytes: bytes });
  });

  it.each([
    ["that is not base64", "sig"],
    ["without its padding", "MEQCIA"],
    ["with stray bits behind its bytes", "MEQCIB=="],
    ["in base64's other alphabet", "MEQC-_8="],
    ["with a space", "MEQC IA=="],
  ])("%s is kept as it came", (_what, header) => {
    expect(packSignature(header)).toEqual({ signature: header, signatureBytes: null });
  });
});
