-- SendGrid's signature header is base64 of 70 to 72 bytes. Where that base64 is the one way to write these bytes, they stand here,
-- and `signature` is '': NULL would give the row a bitmap of nulls, which takes 8 bytes. Any other header stays in `signature` as
-- it came, and so do those of older rows. Both ways: src/receipt-signature.ts.
ALTER TABLE receipts ADD COLUMN signature_bytes bytea;
