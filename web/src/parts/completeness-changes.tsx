import type { ReactNode } from "react";
import type { CompletenessOfDay, ReconciliationChange } from "../../../src/views/contract-completeness.ts";
import { changeReasonText } from "../text/change-reason.ts";
import { STATES } from "../text/completeness.ts";
import type { TextContext } from "../text/context.ts";
import { formatCount } from "../text/number.ts";
import { Foreign, Sentence } from "./foreign.tsx";
import { Time } from "./time.tsx";
import { useText } from "./use-text.ts";

/** How the result of a day came to be what it is. */
export function Changes({ data }: { data: CompletenessOfDay }): ReactNode {
  const text = useText();
  const { t, locale } = text;
  const { changes, changesLeftOut, isChecked } = data;
  if (!isChecked) return null;
  return (
    <section aria-labelledby="changes">
      <h2 id="changes">{t("completeness.day.changes")}</h2>
      {changes.length === 0 ? <p className="muted small">{t("completeness.day.noChange")}</p> : null}
      <ol className="changes">
        {changes.map((change) => (
          <li key={change.id}>
            <span className="muted">
              <Time value={change.changedAt} text={text} as="list" />
              {change.account === "" ? null : (
                <>
                  {" · "}
                  <Foreign>{change.account}</Foreign>
                </>
              )}
            </span>
            <span>
              {differences(change, text).map((difference) => (
                <span key={difference} className="changed">
                  {difference}
                </span>
              ))}
            </span>
            <span className="muted">
              {change.reasons.map((reason) => (
                <span
                  key={JSON.stringify(reason)}
                  className="reason"
                  lang={reason.code === "sentence" ? "en" : undefined}
                >
                  <Sentence>{changeReasonText(reason, text)}</Sentence>
                </span>
              ))}
            </span>
          </li>
        ))}
      </ol>
      {changesLeftOut === 0 ? null : (
        <p className="muted small">
          {t("completeness.day.changesLeftOut", {
            count: changesLeftOut,
            formatted: formatCount(changesLeftOut, locale),
          })}
        </p>
      )}
    </section>
  );
}

/** What of the result's own figures is another than before, in words. */
function differences({ before, after }: ReconciliationChange, { t, locale }: TextContext): string[] {
  const names = {
    state: t("completeness.day.result"),
    missing: t("completeness.day.missingColumn"),
    repaired: t("completeness.day.repaired"),
    open: t("completeness.day.open"),
  };
  const word = (value: unknown): string => {
    const state = STATES.find((each) => each === value);
    if (state !== undefined) return t(`completeness.states.${state}`);
    return typeof value === "number" ? formatCount(value, locale) : "–";
  };
  return (Object.keys(names) as (keyof typeof names)[])
    .filter((name) => before[name] !== after[name])
    .map((name) =>
      t("completeness.day.change", { name: names[name], before: word(before[name]), after: word(after[name]) }),
    );
}
