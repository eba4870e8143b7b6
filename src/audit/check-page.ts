import { createHash } from "node:crypto";
import type { Account, AccountedItem } from "../ledger/account.ts";
import type { Json } from "../ledger/json.ts";
import type { LackingMessage, MessageFault } from "../ledger/message-check.ts";
import { bytesOfItem } from "../ledger/parse.ts";
import type { EventRow, PageReceipt, QuarantineRow, ReceiptPage } from "../ledger/receipt-page.ts";
import { checkReceipt, type AuditSource } from "./check-receipt.ts";
import type { Difference } from "./difference.ts";

/** All that is wrong with a page of receipts and its rows; the messages apart. */
export function differencesOfPage(
  page: ReceiptPage,
  account: Account,
  sources: ReadonlyMap<number, AuditSource>,
): Difference[] {
  const present = new Set(page.receipts.map(({ id }) => id));
  return [
    ...page.receipts.flatMap((receipt) =>
      checkReceipt(receipt, sources).map((kind): Difference => ({ kind, receipt: receipt.id })),
    ),
    ...page.pendingWithoutReceipt.map((receipt): Difference => ({ kind: "receipt_missing", receipt })),
    ...account.items.flatMap(checkItem),
    ...account.surplusEvents.map((row) => surplusEvent(row, page, present)),
    ...checkQuarantine(account, present),
  ];
}

function checkItem({ receipt, event, fate, row }: AccountedItem): Difference[] {
  const place = { receipt: receipt.id, ordinal: event.ordinal };
  if (fate === "missing") return [{ kind: "event_missing", ...place }];
  if (row === undefined) return [];
  const fields = (
    [
      ["type", row.type === event.type],
      ["occurred_at", row.occurredAtMs === event.occurredAtMs],
      ["recipient", row.recipient === event.recipient],
      ["source", row.source === receipt.source],
      ["origin", row.origin === "webhook"],
      ["nameless", row.nameless === (event.messageId === null)],
      ["detail", isSameJson(row.detail, event.detail)],
    ] as const
  ).flatMap(([field, isSame]) => (isSame ? [] : [field]));
  return fields.length === 0 ? [] : [{ kind: "event_changed", ...place, message: row.message, fields }];
}

function surplusEvent(row: EventRow, page: ReceiptPage, present: ReadonlySet<number>): Difference {
  const { ordinal, message } = row;
  const receipt = row.receipt ?? undefined;
  if (!page.messages.has(message)) return { kind: "message_missing", receipt, ordinal, message };
  const isThere = receipt !== undefined && present.has(receipt);
  return { kind: isThere ? "event_surplus" : "receipt_missing", receipt, ordinal, message };
}

function checkQuarantine(account: Account, present: ReadonlySet<number>): Difference[] {
  const differences: Difference[] = [];
  const compare = (receipt: PageReceipt, row: QuarantineRow, bytes: Buffer | undefined, states: string[]): void => {
    const fields = [
      ...(bytes !== undefined && row.sha256.equals(createHash("sha256").update(bytes).digest()) ? [] : ["bytes"]),
      ...(row.source === receipt.source ? [] : ["source"]),
      ...(row.receivedAt.getTime() === receipt.receivedAt.getTime() ? [] : ["received_at"]),
      ...(states.includes(row.state) ? [] : ["state"]),
    ];
    const { ordinal, id: quarantine } = row;
    if (fields.length > 0) {
      differences.push({ kind: "quarantine_changed", receipt: receipt.id, ordinal, quarantine, fields });
    }
  };
  for (const { receipt, item, row } of account.quarantined) {
    if (row === undefined) {
      differences.push({ kind: "quarantine_missing", receipt: receipt.id, ordinal: item.ordinal });
    } else compare(receipt, row, item.bytes, ["open"]);
  }
  for (const { receipt, row } of [...account.readable, ...account.replayed]) {
    compare(receipt, row, bytesOfItem(receipt.body, row.ordinal), ["open", "replayed"]);
  }
  for (const { receipt, ordinal, id: quarantine } of account.surplusQuarantine) {
    const kind = present.has(receipt) ? "quarantine_surplus" : "receipt_missing";
    differences.push({ kind, receipt, ordinal, quarantine });
  }
  return differences;
}

/** What is wrong with messages. */
export function differencesOfMessages(
  faults: readonly MessageFault[],
  lacking: readonly LackingMessage[] = [],
): Difference[] {
  return [
    ...faults.flatMap(({ message, state, fields, twins }): Difference[] => [
      ...(state === undefined ? [{ kind: "message_empty", message } as const] : []),
      ...(fields.length > 0 ? [{ kind: "message_changed", message, fields } as const] : []),
      ...(twins.length > 0 ? [{ kind: "twins_wrong", message } as const] : []),
    ]),
    ...lacking.map((lack): Difference => ({ kind: "message_changed", ...lack })),
  ];
}

/** Equal as jsonb counts it: the order of keys does not matter. As deep as the first, which came through the parser. */
export function isSameJson(stored: Json | undefined, parsed: Json | undefined): boolean {
  if (stored === parsed) return true;
  if (typeof stored !== "object" || typeof parsed !== "object") return false;
  if (stored === null || parsed === null || Array.isArray(stored) !== Array.isArray(parsed)) return false;
  if (Array.isArray(stored) && Array.isArray(parsed)) {
    return stored.length === parsed.length && parsed.every((item, index) => isSameJson(stored[index], item));
  }
  const a = stored as Record<string, Json>;
  const b = parsed as Record<string, Json>;
  const keys = Object.keys(b);
  return (
    keys.length === Object.keys(a).length && keys.every((key) => Object.hasOwn(a, key) && isSameJson(a[key], b[key]))
  );
}
