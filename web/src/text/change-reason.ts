import type { ChangeReason } from "../../../src/views/contract-completeness.ts";
import { kindText, STATES } from "./completeness.ts";
import type { TextContext } from "./context.ts";
import { isolate } from "./hostile.ts";
import { formatCount } from "./number.ts";

type Moved = ChangeReason["before"];

/** Why a day's result changed, in one sentence; what is foreign in it is isolated (see hostile.ts). */
export function changeReasonText(reason: ChangeReason, text: TextContext): string {
  const { t, locale } = text;
  const { code, count = 0, before, after } = reason;
  const kind = kindText(reason.kind ?? "other", text) ?? isolate(reason.kind ?? "");
  const figure = (value: Moved): string =>
    typeof value === "number" ? formatCount(value, locale) : t("completeness.reasons.unknownTotal");
  switch (code) {
    case "total_moved":
    case "surplus_moved":
      return t(`completeness.reasons.${code}`, { kind, before: figure(before), after: figure(after) });
    case "late":
    case "left":
    case "repaired":
    case "replaced":
    case "found_missing":
    case "not_missing":
      return t(`completeness.reasons.${code}`, { kind, count, formatted: formatCount(count, locale) });
    case "state_moved":
      return t("completeness.reasons.state_moved", { before: stateText(before, text), after: stateText(after, text) });
    case "time_zone_moved":
      return t("completeness.reasons.time_zone_moved", {
        before: isolate(String(before ?? "")),
        after: isolate(String(after ?? "")),
      });
    case "sentence":
      return isolate(reason.text ?? "");
    default:
      return t(`completeness.reasons.${code}`);
  }
}

function stateText(value: Moved, { t }: TextContext): string {
  const state = STATES.find((each) => each === value);
  return state === undefined ? isolate(String(value ?? "")) : t(`completeness.states.${state}`);
}
