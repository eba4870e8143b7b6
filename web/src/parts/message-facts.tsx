import type { ReactNode } from "react";
import type { MessageSummary } from "../../../src/views/contract.ts";
import { line } from "../text/hostile.ts";
import { markOfDelivery, markOfKind } from "../text/kinds.ts";
import { State } from "./mark.tsx";
import { useText } from "./use-text.ts";

/** Where a mail stands: its delivery, and beside it what its reader thought of it. */
export function DeliveryState({ message }: { message: MessageSummary }): ReactNode {
  const { t } = useText();
  return (
    <>
      {message.id.startsWith("nameless:") ? null : (
        <State mark={markOfDelivery(message.delivery)}>{t(`delivery.${message.delivery}`)}</State>
      )}
      {message.complaint ? <State mark={markOfKind("spamreport")}>{t("delivery.complaint")}</State> : null}
      {message.unsubscribed ? <State mark={markOfKind("unsubscribe")}>{t("delivery.unsubscribed")}</State> : null}
    </>
  );
}

/** Values shown in a row: more would be cut off anyway. */
const ARGS_SHOWN = 4;
const CATEGORIES_SHOWN = 3;
const VALUE_CHARS_MAX = 32;

/** Custom args and categories of a mail in one line. */
export function Facts({ message }: { message: MessageSummary }): ReactNode {
  // Applications often send the same word as category and as custom arg; once is enough in a row.
  const args = Object.entries(message.args)
    .filter(([, value]) => !message.categories.includes(value))
    .slice(0, ARGS_SHOWN);
  return (
    <span className="facts">
      {args.map(([key, value]) => (
        <span key={key} className="fact">
          <bdi>{line(key, VALUE_CHARS_MAX)}</bdi> <bdi className="fact-value">{line(value, VALUE_CHARS_MAX)}</bdi>
        </span>
      ))}
      {message.categories.slice(0, CATEGORIES_SHOWN).map((category) => (
        <bdi key={category} className="chip">
          {line(category, VALUE_CHARS_MAX)}
        </bdi>
      ))}
    </span>
  );
}
