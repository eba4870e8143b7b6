/* oxlint-disable no-bitwise, unicorn/prefer-math-trunc -- A generator of 32-bit numbers is made of exactly these. */
import { createHash } from "node:crypto";

/** A stream of numbers that is the same for the same seed, on any machine. Not for secrets. */
export interface Random {
  /** From 0 up to, not including, 1. */
  next(): number;
  /** A whole number from `min` to `max`, both included. */
  between(min: number, max: number): number;
  chance(probability: number): boolean;
  pick<T>(choices: readonly [T, ...T[]]): T;
  /** As `pick`, where each choice has a weight. */
  weighted<T>(choices: readonly [readonly [weight: number, value: T], ...(readonly [weight: number, value: T])[]]): T;
  bytes(count: number): Buffer;
  /** 22 characters of URL-safe base64 for 16 bytes, as engagement ids and X-Message-Ids are; `idSalt` is in it too. */
  id(): string;
  /** A delay in seconds around `median`, most of them within a factor of four: how long people take. */
  delay(median: number): number;
}

/** Chris Doty-Humphrey's sfc32, a small generator of good quality, started from the SHA-256 of `seed`. */
export function createRandom(seed: string, idSalt = ""): Random {
  const state = createHash("sha256").update(seed).digest();
  let a = state.readInt32LE(0);
  let b = state.readInt32LE(4);
  let c = state.readInt32LE(8);
  let counter = 1;

  function uint32(): number {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return sum >>> 0;
  }

  // The first numbers still resemble the seed.
  for (let round = 0; round < 12; round += 1) uint32();

  const next = (): number => uint32() / 0x1_0000_0000;
  const between = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  const bytes = (count: number): Buffer => {
    const made = Buffer.alloc(count);
    for (let at = 0; at < count; at += 1) made[at] = uint32() >>> 24;
    return made;
  };
  return {
    next,
    between,
    chance: (probability) => next() < probability,
    pick: (choices) => choices[Math.floor(next() * choices.length)] ?? choices[0],
    weighted(choices) {
      let left = next() * choices.reduce((sum, [weight]) => sum + weight, 0);
      for (const [weight, value] of choices) {
        left -= weight;
        if (left < 0) return value;
      }
      return choices[0][1];
    },
    bytes,
    id: () => createHash("sha256").update(idSalt).update(bytes(16)).digest().subarray(0, 16).toString("base64url"),
    // The sum of three numbers is near enough to a bell, and its exponential to how long-tailed human delays are.
    delay: (median) => Math.max(1, Math.round(median * Math.exp((next() + next() + next() - 1.5) * 2))),
  };
}
