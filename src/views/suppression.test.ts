import { describe, expect, test } from "vitest";
import type { ReasonRow } from "../ledger/read-recipient.ts";
import { findSuppressions } from "./suppression.ts";

const at = (minute: number): Date => new Date(Date.UTC(2026, 2, 1, 9, minute));

function event(minute: number, type: string, detail: Record<string, unknown> = {}): ReasonRow {
  return { message: `m${minute}`, source: 1, type, occurredAt: at(minute), detail };
}

/** From events in the order of time. */
function found(...events: ReasonRow[]): [kind: string, message: string | null, ended: boolean][] {
  return findSuppressions(events.toReversed()).map(({ kind, event: { message }, endedAt }) => [
    kind,
    message,
    endedAt !== undefined,
  ]);
}

describe("why an address is suppressed", () => {
  test("a bounce is a reason; a block and an expiry are none", () => {
    expect(found(event(1, "bounce", { type: "bounce" }))).toEqual([["bounced", "m1", false]]);
    expect(found(event(1, "bounce", { type: "blocked" }), event(2, "bounce", { type: "expired" }))).toEqual([]);
  });

  test("the drops that follow do not hide what caused them, but the last of them says until when it held", () => {
    const drop = { reason: "Bounced Address" };
    const events = [event(1, "bounce"), event(2, "dropped", drop), event(3, "dropped", drop)];
    expect(found(...events)).toEqual([["bounced", "m1", false]]);
    expect(findSuppressions(events.toReversed())[0]?.lastSignAt).toEqual(at(3));
  });

  test("a drop alone says which list the address is on", () => {
    expect(found(event(1, "dropped", { reason: "Spam Reporting Address" }))).toEqual([["complaint", "m1", false]]);
    expect(found(event(1, "dropped", { reason: "Unsubscribed Address" }))).toEqual([["unsubscribed", "m1", false]]);
    expect(found(event(1, "dropped", { reason: "Invalid" }))).toEqual([["invalid", "m1", false]]);
    expect(found(event(1, "dropped", { reason: "Spam Content" }), event(2, "dropped", { reason: 5 }))).toEqual([]);
  });

  test("of several bounces the latest counts", () => {
    expect(found(event(1, "bounce"), event(5, "bounce"))).toEqual([["bounced", "m5", false]]);
  });

  test("who comes back to a group is no longer out of it, and who leaves it again is", () => {
    const leaves = event(1, "group_unsubscribe");
    const comesBack = event(2, "group_resubscribe");
    expect(found(leaves, comesBack)).toEqual([["group_unsubscribed", "m1", true]]);
    expect(found(leaves, comesBack, event(3, "group_unsubscribe"))).toEqual([["group_unsubscribed", "m3", false]]);
    // A group is not everything: the global list stays.
    expect(found(event(1, "unsubscribe"), comesBack)).toEqual([["unsubscribed", "m1", false]]);
  });
});
