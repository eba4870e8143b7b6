/** One message of PostgreSQL's protocol, whole. `type` is "" for the client's first, which has none. */
export interface Frame {
  type: string;
  /** What follows the length. */
  payload: Buffer;
}

const HEADER_BYTES = 5;
const FIRST_HEADER_BYTES = 4;

/**
 * Cuts a stream of one direction into messages. `untyped` of them, at the beginning, have no type byte.
 * Give it each chunk; it gives back the messages that are complete with it.
 */
export function createFrameReader(untyped: 0 | 1): (chunk: Buffer) => Frame[] {
  let rest: Buffer = Buffer.alloc(0);
  let untypedLeft: number = untyped;
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const frames: Frame[] = [];
    for (;;) {
      const headerBytes = untypedLeft > 0 ? FIRST_HEADER_BYTES : HEADER_BYTES;
      if (rest.length < headerBytes) return frames;
      const typeBytes = headerBytes - FIRST_HEADER_BYTES;
      const end = typeBytes + rest.readUInt32BE(typeBytes);
      if (rest.length < end) return frames;
      const type = rest.toString("latin1", 0, typeBytes);
      frames.push({ type, payload: rest.subarray(headerBytes, end) });
      rest = rest.subarray(end);
      untypedLeft = 0;
    }
  };
}

/** The text that a client's message runs: a simple query's, or the name of the prepared statement that a Bind binds. */
export function statementOf({ type, payload }: Frame): string | undefined {
  if (type === "Q") return textAt(payload, 0);
  if (type !== "B") return undefined;
  const portalEnd = payload.indexOf(0);
  return textAt(payload, portalEnd + 1);
}

function textAt(payload: Buffer, start: number): string {
  const end = payload.indexOf(0, start);
  return payload.toString("utf8", start, end === -1 ? payload.length : end);
}
