import type { Random } from "./random.ts";
import type { WireEvent } from "./truth.ts";

/**
 * Bad input that really occurs: whole bodies and single items that cannot become events, and good events with
 * characters and values in them that are hard to store.
 */

/** A character that the wire form replaces by bytes which are no UTF-8. */
export const INVALID_UTF8_MARK = "\uE000";
/** A text that the wire form replaces by a number larger than any double holds exactly. */
export const HUGE_NUMBER_MARK = "\uE001";

const HARDENED_SHARE = 0.01;

/** Makes one event in a hundred hard to store. It stays a good event: its ids, type and time are untouched. */
export function harden(random: Random, event: WireEvent): WireEvent {
  if (!random.chance(HARDENED_SHARE)) return event;
  return { ...event, ...hardFields(random) };
}

function hardFields(random: Random): WireEvent {
  switch (random.between(0, 6)) {
    case 0:
      return { note: "before\u0000after" };
    case 1:
      return { note: "half a pair \uD83D here", "k\uDC00y": "1" };
    case 2:
      return { note: `caf${INVALID_UTF8_MARK}` };
    case 3:
      return Object.fromEntries<unknown>([
        ["__proto__", { admin: true }],
        ["constructor", "x"],
      ]);
    case 4:
      return { amount: HUGE_NUMBER_MARK };
    case 5:
      return { note: "long ".repeat(20_000) };
    default:
      return {
        note: "=cmd('x') <script>alert(1)</script>\r\nsecond line",
        attempt: 3,
        category: [],
        tls: "1",
        new_field: { nested: [1, null] },
      };
  }
}

/** Items, as the bytes of a POST hold them, each of which must be quarantined alone. */
export const BROKEN_ITEMS: readonly string[] = [
  '{"email":"broken@example.com","event":"delivered","sg_event_id":"broken-1","timestamp":}',
  "7",
  "null",
  '"delivered"',
  '[{"email":"nested@example.com","event":"open","timestamp":1700000000}]',
  '{"email":"no-type@example.com","sg_event_id":"broken-2","timestamp":1700000000}',
  '{"email":"no-time@example.com","event":"open","sg_event_id":"broken-3"}',
  '{"email":"bad-type@example.com","event":17,"sg_event_id":"broken-4","timestamp":1700000000}',
  '{"email":"bad-time@example.com","event":"open","sg_event_id":"broken-5","timestamp":"yesterday"}',
  `{"deep":${"[".repeat(10_000)}${"]".repeat(10_000)},"email":"deep@example.com","event":"open","sg_event_id":"broken-6","timestamp":1700000000}`,
];

/** Bodies each of which must be quarantined whole, as one item. */
export const BROKEN_BODIES: readonly string[] = [
  "this is not JSON\r\n",
  "1",
  "{}",
  "null",
  '[[{"Key":"email","Value":"pairs@example.com"},{"Key":"event","Value":"open"}]]\r\n',
  '[{"email":"cut@example.com","event":"proces',
];
