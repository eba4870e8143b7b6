import { REPAIR_KEY_PREFIX } from "../repair-item.ts";
import type { ParsedEvent } from "./event.ts";
import type { Json } from "./json.ts";
import { parseItem } from "./parse.ts";

/**
 * Reads the item of a repair as an item of a webhook is read.
 *
 * @returns undefined when it cannot be an event, or names no message: whose it is cannot be told then.
 */
export function readRepairItem(text: string): ParsedEvent | undefined {
  const [event] = parseItem(Buffer.from(text), 0).events;
  if (event === undefined || event.messageId === null) return undefined;
  const isOrders = ([key]: [string, string]): boolean => key.startsWith(REPAIR_KEY_PREFIX);
  const entries = Object.entries(event.args);
  // fromEntries defines its keys, so that an arg named __proto__ stays one.
  const detail = { ...event.detail, ...Object.fromEntries(entries.filter(isOrders)) };
  return { ...event, detail, args: Object.fromEntries(entries.filter((entry) => !isOrders(entry))) };
}

/** Which copy of alike events this is; undefined: the item does not say. `value`: what stands in the event's detail. */
export function repairCopy(value: Json | undefined): number | undefined {
  const copy = typeof value === "string" ? Number(value) : value;
  return typeof copy === "number" && Number.isSafeInteger(copy) && copy > 0 ? copy : undefined;
}
