import type { TextContext } from "./context.ts";
import { isolate } from "./hostile.ts";

const REASONS = [
  "empty",
  "not_json",
  "not_array",
  "no_events",
  "item_not_json",
  "not_object",
  "no_type",
  "bad_type",
  "no_timestamp",
  "bad_timestamp",
  "too_deep",
] as const;

/** Why something is in quarantine, as a sentence. A code this page does not know is named. */
export function quarantineReason(code: string, { t }: TextContext): string {
  const known = REASONS.find((reason) => reason === code);
  return known === undefined
    ? t("quarantine.reasons.other", { code: isolate(code) })
    : t(`quarantine.reasons.${known}`);
}
