import type { TimelineEvent } from "../../../src/views/contract.ts";
import type { TextContext } from "./context.ts";
import { moment } from "./time.ts";

/**
 * Of an event that no webhook brought, or whose webhook came after it had been repaired: where it came from and when.
 * Undefined for all others.
 */
export function repairedSentence(
  { origin, repairedAt }: Pick<TimelineEvent, "origin" | "repairedAt">,
  text: TextContext,
): string | undefined {
  const { t } = text;
  if (origin === "webhook") {
    return repairedAt === null
      ? undefined
      : t("completeness.repairedEvent.replaced", { moment: moment(repairedAt, text) });
  }
  const from = t(`completeness.origins.${origin}`);
  if (repairedAt === null) return t("completeness.repairedEvent.textNoTime", { from });
  const sentence = t("completeness.repairedEvent.text", { from, moment: moment(repairedAt, text) });
  // German begins with the moment.
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
