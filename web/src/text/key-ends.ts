const HOUR_MS = 3_600_000;

/** The ends of a key's validity that can be chosen, in milliseconds from now. */
export const KEY_ENDS = { hour: HOUR_MS, day: 24 * HOUR_MS, week: 7 * 24 * HOUR_MS } as const;
export type KeyEndChoice = keyof typeof KEY_ENDS;

/** A fingerprint as people compare it: its beginning, in groups of four. */
export function shortFingerprint(fingerprint: string): string {
  return (fingerprint.slice(0, 16).match(/.{1,4}/g) ?? []).join(" ");
}

/** Whether a key verifies what arrives now. */
export function isKeyLive(key: { validUntil: string | null }, now: number): boolean {
  return key.validUntil === null || Date.parse(key.validUntil) > now;
}
