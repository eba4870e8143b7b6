import type { Recipient, Suppression } from "../../../src/views/contract-recipient.ts";
import type { TextContext } from "./context.ts";
import { isolate } from "./hostile.ts";
import { moment } from "./time.ts";

export const isOpen = (suppression: Suppression): boolean => suppression.endedAt === null;

/** Whether a person can be reached: the first thing on their page. */
export function recipientSentence(recipient: Recipient, context: TextContext): string {
  const { t } = context;
  const address = isolate(recipient.address);
  const open = recipient.suppressions.filter(isOpen);
  const [since] = open.flatMap((reason) => (reason.kind === "group_unsubscribed" ? [] : reason.since)).sort();
  if (since !== undefined) return t("recipient.suppressed", { address, moment: moment(since, context) });
  if (open.length > 0) return t("recipient.partly", { address });
  if (recipient.lastDeliveredAt === null) return t("recipient.unproven", { address });
  return t("recipient.receives", { address, moment: moment(recipient.lastDeliveredAt, context) });
}

/** A share of mails: "97%". Undefined where there is nothing to have a share of. */
export function share(part: number, whole: number, locale: string): string | undefined {
  if (whole === 0) return undefined;
  // 99.6 % must not look like all of them, nor 0.4 % like none.
  const percent = (part * 100) / whole;
  const shown = part === whole || part === 0 ? percent : Math.min(99, Math.max(1, Math.round(percent)));
  return new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 0 }).format(shown / 100);
}
