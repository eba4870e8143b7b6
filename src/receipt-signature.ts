/**
 * How a receipt's signature header is kept: as the bytes that its base64 stands for, 24 fewer a row, where the header can be
 * made of them again character for character; else as the text that it is.
 */
export interface PackedSignature {
  /** Empty where the bytes say it all. */
  signature: string | null;
  signatureBytes: Buffer | null;
}

export function packSignature(header: string | null): PackedSignature {
  if (header === null) return { signature: null, signatureBytes: null };
  const bytes = Buffer.from(header, "base64");
  // Node also reads base64 with other characters, without padding or with stray bits, and would not give these back.
  return bytes.toString("base64") === header
    ? { signature: "", signatureBytes: bytes }
    : { signature: header, signatureBytes: null };
}

/** The header as it came, from a row of `receipts`. PostgreSQL breaks base64 into lines of 76 characters. */
export const SIGNATURE = String.raw`coalesce(translate(encode(signature_bytes, 'base64'), E'\n', ''), signature)`;
