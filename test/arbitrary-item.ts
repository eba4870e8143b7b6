import fc from "fast-check";

/**
 * Any item of one message, as SendGrid could send it: few distinct values for each field, so that duplicates, twins and
 * conflicts come up often.
 */
function arbitraryItem(): fc.Arbitrary<Record<string, unknown>> {
  return fc.record(
    {
      event: fc.constantFrom(
        "processed",
        "deferred",
        "delivered",
        "dropped",
        "bounce",
        "open",
        "click",
        "spamreport",
        "unsubscribe",
        "group_unsubscribe",
        "group_resubscribe",
        "teleported",
      ),
      timestamp: fc.integer({ min: 1764511300, max: 1764511304 }),
      sg_event_id: fc.constantFrom("a", "b", "c", "d", "e"),
      email: fc.constantFrom("a@example.com", "B@example.com", ""),
      type: fc.constantFrom("bounce", "blocked", "expired"),
      sg_machine_open: fc.boolean(),
      url: fc.constantFrom("https://example.com/1", "https://example.com/2"),
      attempt: fc.constantFrom("1", "2", 2),
      category: fc.constantFrom("invoice", ["invoice", "b2b"], []),
      order_id: fc.constantFrom("4711", "4712", "\u{1F600}", "\uFFFD"),
    },
    { requiredKeys: ["event", "timestamp", "sg_event_id"] },
  );
}

/** Items of one message. An id names one content: what differs under one id is not a re-delivery but another event. */
export function arbitraryItems(): fc.Arbitrary<Record<string, unknown>[]> {
  return fc.uniqueArray(arbitraryItem(), { minLength: 1, maxLength: 5, selector: (item) => item["sg_event_id"] });
}
