import { createHash, createPublicKey, type KeyObject } from "node:crypto";
import type { PageReceipt } from "../ledger/receipt-page.ts";
import type { Queryable } from "../postgres/pool.ts";
import { verifySignature } from "../sendgrid/signature.ts";
import type { DifferenceKind } from "./difference.ts";

/** A source with the keys that were ever its own. */
export interface AuditSource {
  name: string;
  keys: ReadonlyMap<number, KeyObject>;
}

/** The only source that can be set to take unsigned POSTs. */
const MAY_BE_UNSIGNED = "default";

export async function readAuditSources(tx: Queryable): Promise<Map<number, AuditSource>> {
  const sources = await tx.query<{ id: number; name: string }>("SELECT id, name FROM sources");
  const keys = await tx.query<{ id: number; source: number; der: Buffer }>(
    "SELECT id, source, public_key AS der FROM source_keys",
  );
  return new Map(
    sources.rows.map(({ id, name }) => [
      id,
      { name, keys: new Map(keys.rows.filter(({ source }) => source === id).flatMap(readKey)) },
    ]),
  );
}

/** A key that is none any more cannot have verified anything. */
function readKey({ id, der }: { id: number; der: Buffer }): [number, KeyObject][] {
  try {
    return [[id, createPublicKey({ key: der, format: "der", type: "spki" })]];
  } catch {
    return [];
  }
}

/** What is wrong with a receipt by itself: its hash, and its signature by the key that was recorded with it. */
export function checkReceipt(receipt: PageReceipt, sources: ReadonlyMap<number, AuditSource>): DifferenceKind[] {
  const { body, sha256 } = receipt;
  const isSame = createHash("sha256").update(body).digest().equals(sha256);
  const fault = signatureFault(receipt, sources.get(receipt.source));
  return [...(isSame ? [] : (["body_changed"] as const)), ...(fault === undefined ? [] : [fault])];
}

function signatureFault(receipt: PageReceipt, source: AuditSource | undefined): DifferenceKind | undefined {
  const { key: keyId, signedAt, signature, body } = receipt;
  if (keyId === null) return source?.name === MAY_BE_UNSIGNED ? undefined : "unsigned";
  const key = source?.keys.get(keyId);
  if (key === undefined) return "key_unknown";
  const isGood = signature !== null && signedAt !== null && verifySignature(key, signedAt, body, signature);
  return isGood ? undefined : "signature_wrong";
}
