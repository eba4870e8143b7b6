import type { Alert } from "../../../src/views/contract.ts";
import type { TextContext } from "./context.ts";
import { formatCount } from "./number.ts";

const KINDS: readonly string[] = [
  "inbox_old",
  "receipt_failing",
  "quarantine_open",
  "balance_broken",
  "enrichment_failing",
  "enrichment_forbidden",
  "signature_failing",
  "source_unknown",
  "spool_in_use",
  "disk_low",
  "durability_unsafe",
  "silence",
  "events_missing",
  "sends_unseen",
  "events_repaired",
  "reconciliation_failing",
  "receiver_failing",
] satisfies Alert["kind"][];

/** An alert in words: what is wrong and what it means, and what to do. A kind of a newer server still says something. */
export function alertText(
  alert: Pick<Alert, "kind" | "source" | "count" | "since">,
  { t, locale, now }: TextContext,
): { what: string; todo: string } {
  const formatted = formatCount(alert.count, locale);
  const { count, source } = alert;
  if (!KINDS.includes(alert.kind))
    return { what: t("alerts.other.what", { count, formatted, kind: alert.kind }), todo: t("alerts.other.todo") };
  const left = timeLeft(alert.since, { t, now });
  return {
    what: t(`alerts.${alert.kind}.what`, { count, formatted, source }),
    todo: t(`alerts.${alert.kind}.todo`, { left }),
  };
}

/** SendGrid tries a refused event again for 24 hours after it happened. */
const PATIENCE_MINUTES = 24 * 60;

/** The clock that matters while SendGrid is being refused. */
function timeLeft(since: string, { t, now }: Pick<TextContext, "t" | "now">): string {
  const minutes = PATIENCE_MINUTES - Math.floor((now - Date.parse(since)) / 60_000);
  if (minutes <= 0) return t("alerts.leftNone");
  return t("alerts.left", { hours: Math.floor(minutes / 60), minutes: minutes % 60 });
}
