/** Counts the bytes of bodies that are still being read. */
export interface Arrivals {
  /**
   * Makes room for a body of so many bytes.
   *
   * @returns what to call, once or more, when it was read or its sender is gone; undefined when there is no room.
   */
  admit(bytes: number): (() => void) | undefined;
}

/**
 * Bounds the memory of bodies on their way in: many slow senders of large bodies would otherwise fill it, long before the
 * queue of the appender sees any of them.
 */
export function createArrivals(bytesMax: number): Arrivals {
  let arrivingBytes = 0;
  return {
    admit(bytes) {
      if (arrivingBytes + bytes > bytesMax) return undefined;
      arrivingBytes += bytes;
      let isHere = true;
      return () => {
        if (isHere) arrivingBytes -= bytes;
        isHere = false;
      };
    },
  };
}
