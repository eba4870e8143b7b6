import "../styles/completeness.css";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "wouter";
import type { CompletenessOfDay, DayResult } from "../../../src/views/contract-completeness.ts";
import { api } from "../api/client.ts";
import { languageOf } from "../i18n/i18n.ts";
import { Changes } from "../parts/completeness-changes.tsx";
import { Gaps } from "../parts/completeness-gaps.tsx";
import { KindsTable } from "../parts/completeness-kinds.tsx";
import { FileLink } from "../parts/file-link.tsx";
import { Foreign } from "../parts/foreign.tsx";
import { State } from "../parts/mark.tsx";
import { SimulatedTag } from "../parts/notices.tsx";
import { Loaded, Nothing } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { useText } from "../parts/use-text.ts";
import { useTitle } from "../parts/use-title.ts";
import { addDays, DAY_MARKS, daySentence, dayTitle, longDay } from "../text/completeness.ts";
import { formatCount } from "../text/number.ts";

const REFRESH_MS = 60_000;

/** One day: a sentence, the figures it rests on, every gap, and what changed and why. */
export function CompletenessDayPage({ day, mayTake }: { day: string; mayTake: boolean }): ReactNode {
  const text = useText();
  useTitle(longDayOrText(day, text));
  const answer = useQuery({
    queryKey: ["completeness", "day", day],
    queryFn: ({ signal }) => api<CompletenessOfDay>("GET", `/api/completeness/${day}?limit=1`, { signal }),
    refetchInterval: REFRESH_MS,
  });
  return (
    <article className="completeness">
      <Loaded data={answer.data} error={answer.error} again={() => void answer.refetch()} rows={8}>
        {(data) => <Day data={data} mayTake={mayTake} />}
      </Loaded>
    </article>
  );
}

/** The address may name a day that the calendar has not; the server then says so. */
function longDayOrText(day: string, text: ReturnType<typeof useText>): string {
  return Number.isNaN(Date.parse(`${day}T00:00:00Z`)) ? day : longDay(day, text);
}

function Day({ data, mayTake }: { data: CompletenessOfDay; mayTake: boolean }): ReactNode {
  const text = useText();
  const { t } = text;
  const { i18n } = useTranslation();
  const { day, today, accounts, isChecked } = data;
  const query = new URLSearchParams({ from: day, to: day, language: languageOf(i18n) });
  return (
    <>
      <div className="day-crumb">
        <p className="crumb">
          <Link href={`/completeness?year=${day.slice(0, 4)}`}>{t("completeness.day.crumb")}</Link>{" "}
          <span aria-hidden="true">›</span> {longDay(day, text)}
        </p>
        <span className="controls">
          <Link className="step" href={`/completeness/${addDays(day, -1)}`} aria-label={t("completeness.day.before")}>
            ‹
          </Link>
          {day < today ? (
            <Link className="step" href={`/completeness/${addDays(day, 1)}`} aria-label={t("completeness.day.after")}>
              ›
            </Link>
          ) : null}
        </span>
      </div>
      <h1 className="sentence">{dayTitle(data, text)}</h1>
      {isChecked ? (
        <>
          <Checked data={data} />
          <p className="controls day-actions">
            <FileLink href={`/api/completeness/certificate.pdf?${query.toString()}`} mayTake={mayTake} isAlone>
              {t("completeness.day.file")}
            </FileLink>
          </p>
          {accounts.map((result) => (
            <AccountOfDay key={result.account} result={result} isOne={accounts.length === 1} />
          ))}
        </>
      ) : (
        <Nothing title={t("completeness.states.unchecked")}>
          <p>{t("completeness.day.uncheckedHint")}</p>
        </Nothing>
      )}
      <Gaps data={data} />
      <Changes data={data} />
    </>
  );
}

function Checked({ data }: { data: CompletenessOfDay }): ReactNode {
  const text = useText();
  const { t, locale } = text;
  const { accounts, timeZone, accountsLeftOut } = data;
  const last = accounts.map(({ checkedAt }) => checkedAt).reduce((one, other) => (one > other ? one : other), "");
  const final = accounts.every((account) => account.final);
  // The sentence has its time in the middle, and languages put it where they like.
  const [before = "", after = ""] = t("completeness.day.checked", { ago: "\u0000", timeZone }).split("\u0000");
  return (
    <p className="lead">
      {before}
      <Time value={last} text={text} as="ago" />
      {after} {final ? t("completeness.day.final") : t("completeness.notFinalHint")}
      {accountsLeftOut === 0 ? null : (
        <>
          {" "}
          {t("completeness.accountsLeftOut", {
            count: accountsLeftOut,
            formatted: formatCount(accountsLeftOut, locale),
          })}
        </>
      )}
    </p>
  );
}

function AccountOfDay({ result, isOne }: { result: DayResult; isOne: boolean }): ReactNode {
  const text = useText();
  const { t } = text;
  const id = `account-${result.account}`;
  const name = result.account === "" ? t("completeness.mainAccount") : result.account;
  return (
    <section aria-labelledby={id}>
      <div className="section-head">
        <h2 id={id}>
          <Foreign>{isOne ? t("completeness.day.kinds") : name}</Foreign>
        </h2>
        <span>
          <State mark={DAY_MARKS[result.state]}>{t(`completeness.states.${result.state}`)}</State>
          {result.simulated ? <SimulatedTag /> : null}
          {result.final ? null : (
            <span className="tag" title={t("completeness.notFinalHint")}>
              {t("completeness.notFinal")}
            </span>
          )}
        </span>
      </div>
      {isOne ? null : <p className="small">{daySentence(result, text)}</p>}
      <KindsTable result={result} />
    </section>
  );
}
