/** Smaller ones cost less than it would to give them back. */
const FREE_BYTES_MIN = 16 * 1024;

/**
 * Gives a large buffer's memory back at once; it is empty from then on, and so is every other view of the same memory. Only for
 * who made the buffer and knows that nobody reads it any more.
 *
 * V8 does not see how much memory stands behind a buffer until 64 MB of it have gathered, and then marks its whole heap to find
 * what nobody uses: at 500 events a POST that was four times a second, and a third of a core. And memory that comes back at once is
 * still in the processor's cache.
 */
export function freeBuffer({ buffer: memory }: Buffer): void {
  // Node cuts small buffers from one of this size, which many share.
  const isShared = !(memory instanceof ArrayBuffer) || memory.byteLength === Buffer.poolSize;
  if (!isShared && memory.byteLength >= FREE_BYTES_MIN) memory.transfer(0);
}
