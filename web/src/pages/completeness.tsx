import "../styles/completeness.css";
import { NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Link, useLocation } from "wouter";
import type { Completeness } from "../../../src/views/contract-completeness.ts";
import { api } from "../api/client.ts";
import { languageOf } from "../i18n/i18n.ts";
import { Calendar } from "../parts/completeness-calendar.tsx";
import { Checks } from "../parts/completeness-checks.tsx";
import { FileLink } from "../parts/file-link.tsx";
import { Loaded } from "../parts/states.tsx";
import { useText } from "../parts/use-text.ts";
import { useTitle } from "../parts/use-title.ts";
import { cellsByDay, yearSentence } from "../text/completeness.ts";
import { line } from "../text/hostile.ts";
import { formatCount } from "../text/number.ts";

interface CompletenessPageProps {
  search: string;
  /** Whether the reader's role may order checks and take figures away. */
  mayOrder: boolean;
}

const REFRESH_MS = 60_000;

/** Whether anything is missing: a year of days, and the checks that say so. */
export function CompletenessPage({ search, mayOrder }: CompletenessPageProps): ReactNode {
  const { t } = useText();
  useTitle(t("completeness.title"));
  const asked = new URLSearchParams(search);
  const year = /^2\d{3}$/.exec(asked.get("year") ?? "")?.[0];
  const answer = useQuery({
    queryKey: ["completeness", year ?? "now"],
    queryFn: ({ signal }) =>
      api<Completeness>("GET", `/api/completeness${year === undefined ? "" : `?year=${year}`}`, { signal }),
    refetchInterval: REFRESH_MS,
  });
  return (
    <div className="completeness">
      <h1 className="large">{t("completeness.title")}</h1>
      <Loaded data={answer.data} error={answer.error} again={() => void answer.refetch()} rows={8}>
        {(data) => <Year data={data} account={asked.get("account") ?? undefined} mayOrder={mayOrder} />}
      </Loaded>
      {answer.data === undefined ? null : <Checks today={answer.data.today} mayOrder={mayOrder} />}
    </div>
  );
}

function yearPath(year: number, account: string | undefined): string {
  const query = new URLSearchParams({ year: String(year), ...(account === undefined ? {} : { account }) });
  return `/completeness?${query.toString()}`;
}

interface YearProps {
  data: Completeness;
  account: string | undefined;
  mayOrder: boolean;
}

function Year({ data, account, mayOrder }: YearProps): ReactNode {
  const text = useText();
  const { t, locale } = text;
  const { timeZone, accountsLeftOut } = data;
  const known = account !== undefined && data.accounts.includes(account) ? account : undefined;
  const cells = cellsByDay(data.days, known);
  return (
    <>
      <p className="verdict">{yearSentence([...cells.values()], data, text)}</p>
      <p className="lead">{t("completeness.lead", { timeZone })}</p>
      {data.days.some(({ simulated }) => simulated) ? (
        <p className="muted small">{t("completeness.simulated")}</p>
      ) : null}
      {cells.size === 0 ? <p className="muted small">{t("completeness.noneHint")}</p> : null}
      <div className="filters controls">
        <YearSwitch data={data} account={known} />
        <AccountSwitch data={data} account={known} />
        <Files data={data} account={known} mayTake={mayOrder} />
      </div>
      {accountsLeftOut === 0 ? null : (
        <p className="muted small">
          {t("completeness.accountsLeftOut", {
            count: accountsLeftOut,
            formatted: formatCount(accountsLeftOut, locale),
          })}
        </p>
      )}
      <Calendar year={data.year} today={data.today} cells={cells} />
    </>
  );
}

function YearSwitch({ data, account }: { data: Completeness; account: string | undefined }): ReactNode {
  const { t } = useText();
  const { year, years, today } = data;
  const last = Math.max(Number(today.slice(0, 4)), ...years);
  const first = Math.min(Number(today.slice(0, 4)), year, ...years);
  const step = (to: number, label: string, sign: string): ReactNode =>
    to < first || to > last ? (
      <span className="step muted" aria-hidden="true">
        {sign}
      </span>
    ) : (
      <Link className="step" href={yearPath(to, account)} aria-label={label}>
        {sign}
      </Link>
    );
  return (
    <fieldset className="year-switch" aria-label={t("completeness.year")}>
      {step(year - 1, t("completeness.before"), "‹")}
      <b>{year}</b>
      {step(year + 1, t("completeness.after"), "›")}
    </fieldset>
  );
}

function AccountSwitch({ data, account }: { data: Completeness; account: string | undefined }): ReactNode {
  const { t } = useText();
  const [, navigate] = useLocation();
  if (data.accounts.length < 2) return null;
  // An account may have any name; its place in the list cannot be mistaken for "all".
  const place = account === undefined ? "" : String(data.accounts.indexOf(account));
  return (
    <NativeSelect
      size="xs"
      aria-label={t("completeness.account")}
      value={place}
      onChange={(event) => {
        const { value } = event.currentTarget;
        navigate(yearPath(data.year, value === "" ? undefined : data.accounts[Number(value)]));
      }}
      data={[
        { value: "", label: t("completeness.allAccounts") },
        ...data.accounts.map((name, index) => ({
          value: String(index),
          label: name === "" ? t("completeness.mainAccount") : line(name),
        })),
      ]}
    />
  );
}

interface FilesProps {
  data: Completeness;
  account: string | undefined;
  mayTake: boolean;
}

/** Plain links: the browser writes them to disk. */
function Files({ data, account, mayTake }: FilesProps): ReactNode {
  const { t } = useText();
  const { i18n } = useTranslation();
  const end = `${data.year}-12-31`;
  const range = {
    from: `${data.year}-01-01`,
    to: end < data.today ? end : data.today,
    ...(account === undefined ? {} : { account }),
  };
  const path = (file: string, more: Record<string, string> = {}): string =>
    `/api/${file}?${new URLSearchParams({ ...range, ...more }).toString()}`;
  return (
    <fieldset className="list-tools" aria-label={t("completeness.file")}>
      <FileLink href={path("completeness.csv")} mayTake={mayTake}>
        {t("completeness.csv")}
      </FileLink>
      <FileLink href={path("completeness.json")} mayTake={mayTake}>
        {t("completeness.json")}
      </FileLink>
      <FileLink href={path("completeness/certificate.pdf", { language: languageOf(i18n) })} mayTake={mayTake}>
        {t("completeness.certificate")}
      </FileLink>
    </fieldset>
  );
}
