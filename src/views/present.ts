import type { FiledEventRow } from "../ledger/read-events.ts";
import type { EnrichmentRow, EventRow, ReceiptRow, WholeMessage } from "../ledger/read-message.ts";
import { publicMessageId } from "../ledger/read-message.ts";
import type { MessageRow } from "../ledger/read-messages.ts";
import type { QuarantineRow } from "../ledger/read-quarantine.ts";
import type { SourceRow } from "../ledger/read-sources.ts";
import type { LiveEvent } from "./contract-live.ts";
import type {
  Delivery,
  Enrichment,
  MessageDetail,
  MessageReceipt,
  MessageSummary,
  QuarantineItem,
  TimelineEvent,
} from "./contract.ts";

/** From rows of the ledger to what the interface shows. Sources are numbers there and names here. */
export type Sources = ReadonlyMap<number, SourceRow>;

export function isoTime(time: Date): string;
export function isoTime(time: Date | null): string | null;
export function isoTime(time: Date | null): string | null {
  return time === null ? null : time.toISOString();
}

export function sourceName(sources: Sources, id: number): string {
  return sources.get(id)?.name ?? String(id);
}

function isSimulated(sources: Sources, id: number): boolean {
  return sources.get(id)?.simulated === true;
}

export function presentSummary(row: MessageRow, sources: Sources): MessageSummary {
  const { recipient, subject, opens, machineOpens, clicks, complaint, unsubscribed, categories, args } = row;
  const source = sourceName(sources, row.source);
  return {
    id: publicMessageId(row.messageId, source),
    source,
    simulated: isSimulated(sources, row.source),
    recipient,
    subject,
    delivery: row.delivery as Delivery,
    opens,
    machineOpens,
    clicks,
    complaint,
    unsubscribed,
    categories,
    args,
    firstEventAt: isoTime(row.firstEventAt),
    lastEventAt: isoTime(row.lastEventAt),
  };
}

export function presentDetail(whole: WholeMessage, sources: Sources): MessageDetail {
  const { head, eventsLeftOut } = whole;
  return {
    message: presentSummary(head, sources),
    sender: head.sender,
    times: {
      processed: isoTime(head.processed),
      deferred: isoTime(head.deferred),
      delivered: isoTime(head.delivered),
      failed: isoTime(head.failed),
      firstOpen: isoTime(head.firstOpen),
      lastOpen: isoTime(head.lastOpen),
      firstMachineOpen: isoTime(head.firstMachineOpen),
      lastMachineOpen: isoTime(head.lastMachineOpen),
      firstClick: isoTime(head.firstClick),
      lastClick: isoTime(head.lastClick),
      firstComplaint: isoTime(head.firstComplaint),
      lastComplaint: isoTime(head.lastComplaint),
      firstUnsubscribe: isoTime(head.firstUnsubscribe),
      lastUnsubscribe: isoTime(head.lastUnsubscribe),
    },
    enrichment: presentEnrichment(head),
    events: whole.events.map((event) => presentEvent(event, sources)),
    eventsLeftOut,
    receipts: whole.receipts.map((receipt) => presentReceipt(receipt, sources)),
  };
}

function presentEnrichment(row: EnrichmentRow): Enrichment {
  const { status, template, error, apiOpens: opens, apiClicks: clicks } = row;
  const api = row.api === "logs" || row.api === "messages" ? row.api : null;
  return { state: row.state ?? "none", askedAt: isoTime(row.askedAt), api, status, opens, clicks, template, error };
}

function presentEvent(row: EventRow, sources: Sources): TimelineEvent {
  const { eventId, type, recipient, twin, probable, detail, detailLeftOut } = row;
  return {
    eventId,
    type,
    occurredAt: isoTime(row.occurredAt),
    recipient,
    source: sourceName(sources, row.source),
    origin: row.origin as TimelineEvent["origin"],
    repairedAt: isoTime(row.repairedAt),
    twin,
    probable,
    receipt: row.receipt === null ? null : String(row.receipt),
    detail,
    detailLeftOut,
  };
}

function presentReceipt(row: ReceiptRow, sources: Sources): MessageReceipt {
  return {
    id: String(row.id),
    receivedAt: isoTime(row.receivedAt),
    source: sourceName(sources, row.source),
    bytes: row.bytes,
    sha256: row.sha256.toString("hex"),
    signed: row.signed,
  };
}

export function presentLiveEvent(row: FiledEventRow, sources: Sources): LiveEvent {
  const { eventId, type, recipient, subject, twin, detail } = row;
  const source = sourceName(sources, row.source);
  return {
    message: publicMessageId(row.messageId, source),
    eventId,
    type,
    occurredAt: isoTime(row.occurredAt),
    recipient,
    subject,
    source,
    simulated: isSimulated(sources, row.source),
    twin,
    detail,
  };
}

export function presentQuarantined(row: QuarantineRow, sources: Sources): QuarantineItem {
  const { ordinal, reason, state, bytes, excerpt } = row;
  return {
    id: String(row.id),
    receipt: String(row.receipt),
    source: sourceName(sources, row.source),
    receivedAt: isoTime(row.receivedAt),
    ordinal,
    reason,
    state,
    bytes,
    excerpt,
  };
}
