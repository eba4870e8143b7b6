import type { IncomingMessage } from "node:http";
import { ClientError } from "../errors.ts";
import { freeBuffer } from "../free-buffer.ts";
import { BODY_BYTES_MAX } from "../limits.ts";

/** A POST's body. */
export interface PostedBody {
  /** As it came. */
  bytes: Buffer;
  /** The characters that are signed with it, and it behind them, in one piece of memory: `bytes` is its end. */
  signed: Buffer;
}

/**
 * Reads a body to its end. Its parts are copied once, to where they stand behind what is signed with them, and given back.
 *
 * @param prefix what is signed before the body: the timestamp header.
 * @throws ClientError `body_too_large`, before more than the limit is in memory; `body_incomplete`.
 */
export async function readBody(request: IncomingMessage, prefix: string): Promise<PostedBody> {
  const announced = Number(request.headers["content-length"] ?? Number.NaN);
  if (announced > BODY_BYTES_MAX) throw new ClientError("body_too_large");
  const parts = await readParts(request);
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  if (!Number.isNaN(announced) && length !== announced) throw new ClientError("body_incomplete");
  const signed = Buffer.allocUnsafeSlow(prefix.length + length);
  let at = signed.write(prefix, "latin1");
  const bytes = signed.subarray(at);
  for (const part of parts) {
    at += part.copy(signed, at);
    freeBuffer(part);
  }
  return { bytes, signed };
}

function readParts(request: IncomingMessage): Promise<Buffer[]> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let length = 0;
    const leave = (): void => {
      request.off("data", onData).off("end", onEnd).off("error", onError);
    };
    const onData = (part: Buffer): void => {
      length += part.length;
      parts.push(part);
      if (length <= BODY_BYTES_MAX) return;
      leave();
      reject(new ClientError("body_too_large"));
    };
    const onEnd = (): void => {
      leave();
      resolve(parts);
    };
    const onError = (): void => {
      leave();
      reject(new ClientError("body_incomplete"));
    };
    request.on("data", onData).on("end", onEnd).on("error", onError);
  });
}
