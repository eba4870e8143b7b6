import type { AlertKind, Finding } from "./rules.ts";

/** SendGrid tries a refused event again for 24 hours after it happened; what is refused until then is lost for good. */
const SENDGRID_PATIENCE_HOURS = 24;

/** What an alert tells a person who reads it outside the page: what is wrong, what follows from it, what to do. */
const SENTENCES: Readonly<Record<AlertKind, (finding: Finding, now: Date) => string>> = {
  inbox_old: ({ count }) =>
    `${count} receipts wait longer than they should. Nothing is lost, but the page lags. Is a process with the role projector running?`,
  receipt_failing: ({ count }) =>
    `${count} receipts cannot be projected. They are kept and tried again; their events do not show yet. The log has the reason.`,
  quarantine_open: ({ count, source }) =>
    `${count} items of the source ${source} could not be read. Look at the quarantine.`,
  balance_broken: ({ count, source }) =>
    `The balance of the source ${source} does not come out: ${count} events differ. Run holdfast verify.`,
  enrichment_failing: ({ count }) =>
    `${count} messages could not be enriched. They can be asked for again on their pages.`,
  enrichment_forbidden: () =>
    "SendGrid refuses its API to this key. Messages are not enriched. Check the key's scopes and the add-on.",
  signature_failing: ({ count, source, since }, now) =>
    `SendGrid is being refused at the source ${source} (${count} POSTs, wrong or missing signature). ${timeLeft(since, now)} Check the verification key.`,
  source_unknown: ({ count, since }, now) =>
    `${count} POSTs went to an address of no source. ${timeLeft(since, now)} Check the webhook's URL in SendGrid.`,
  spool_in_use: ({ count }) =>
    `${count} POSTs wait on disk, because PostgreSQL did not take them. Nothing is lost: they are filed when it does.`,
  disk_low: () => "The disk is nearly full: POSTs are refused. SendGrid sends them again for 24 hours. Free space.",
  durability_unsafe: () => "PostgreSQL is set up to lose what it commits (fsync or synchronous_commit off).",
  silence: ({ count, source }) =>
    `No POST has come to the source ${source} for ${count} whole hours; in earlier weeks these hours had many. Is the webhook still on in SendGrid, and does its way lead here?`,
  events_missing: ({ count }) =>
    `${count} events are in SendGrid's records and not in the ledger. holdfast reconcile --repair files them.`,
  sends_unseen: ({ count }) =>
    `No event has come of ${count} mails that the application handed to SendGrid. Look for them in SendGrid: either they were never handed over, or their webhook is missing.`,
  events_repaired: ({ count }) =>
    `${count} events never came by webhook and were filed from SendGrid's records. Nothing is missing now, but something on the way loses events.`,
  reconciliation_failing: () =>
    "The ledger is not being compared with SendGrid's records: the last comparison failed, or none has run for days. The log has the reason.",
  receiver_failing: ({ count, source }) =>
    `The ${source} of alerts does not take them: ${count} wait to be tried again. Check its address in HOLDFAST_ALERT_WEBHOOKS.`,
};

/** The sentence for a finding, in English. */
export function sentenceOf(finding: Finding, now: Date): string {
  return SENTENCES[finding.kind](finding, now);
}

function timeLeft(since: Date, now: Date): string {
  const minutes = Math.floor((since.getTime() + SENDGRID_PATIENCE_HOURS * 3_600_000 - now.getTime()) / 60_000);
  if (minutes <= 0) return "The first of these events are lost for good.";
  return `The first of these events are lost for good in ${Math.floor(minutes / 60)} h ${minutes % 60} min.`;
}
