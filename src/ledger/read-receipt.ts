import type { Connection } from "../postgres/pool.ts";
import { unpackDamagedBody, type PackedBody } from "../receipt-body.ts";
import { readDictionaries } from "../receipt-dictionaries.ts";
import { SIGNATURE } from "../receipt-signature.ts";

/** A POST as it came, with what proves where it came from. */
export interface WholeReceipt {
  source: string;
  receivedAt: Date;
  sha256: Buffer;
  /** The headers, and the key that verified them as SPKI DER; null: it was unsigned. */
  signature: string | null;
  signedAt: string | null;
  publicKey: Buffer | null;
  body: Buffer;
}

/** undefined: there is no receipt of this number. Of a damaged row, the bytes that stand there. */
export async function readReceipt(tx: Connection, id: number): Promise<WholeReceipt | undefined> {
  const { rows } = await tx.query<WholeReceipt & PackedBody>(
    `SELECT s.name AS source, r.received_at AS "receivedAt", r.sha256, ${SIGNATURE} AS signature, r.signed_at AS "signedAt",
       k.public_key AS "publicKey", r.codec, r.bytes, r.body
     FROM receipts AS r JOIN sources AS s ON s.id = r.source LEFT JOIN source_keys AS k ON k.id = r.key
     WHERE r.id = $1 LIMIT 1`,
    [id],
  );
  const [row] = rows;
  return row === undefined ? undefined : { ...row, body: unpackDamagedBody(row, await readDictionaries(tx, rows)) };
}
