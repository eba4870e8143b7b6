/**
 * What reconcile writes into the item of a repair order beside what SendGrid's records say. The rest of the item has the
 * webhook's form. Keys with this prefix are the order's own: the ledger never takes them for custom args.
 */
export const REPAIR_KEY_PREFIX = "holdfast_";

/**
 * Of an item without an id of SendGrid's: the number, from 1, of this event among those that a person cannot tell apart,
 * being of the same message, type, second, recipient and (for clicks) url. Where SendGrid's records know of three and the
 * ledger holds one, copies 2 and 3 are missing. Left out where all of them are missing and their items differ anyway.
 */
export const REPAIR_COPY = "holdfast_copy";
