import { Modal } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Balance } from "../../../src/views/contract.ts";
import { api } from "../api/client.ts";
import { periodStart } from "../text/message-filters.ts";
import { formatCount } from "../text/number.ts";
import { bareMoment } from "../text/time.ts";
import { useLive } from "./live.tsx";
import { usePreferences, withSimulated } from "./preferences.tsx";
import { Loaded } from "./states.tsx";
import { useText } from "./use-text.ts";

const BALANCE_PERIODS = ["today", "week", "month"] as const;
export type BalancePeriod = (typeof BALANCE_PERIODS)[number];

export function isBalancePeriod(text: string | null): text is BalancePeriod {
  return BALANCE_PERIODS.some((period) => period === text);
}

interface BalanceAccountProps {
  opened: boolean;
  period: BalancePeriod;
  onPeriod: (period: BalancePeriod) => void;
  onClose: () => void;
}

const REFRESH_MS = 10_000;

/** The balance as an account: what came in on the left, where it is on the right, a ruled line, the difference. */
export function BalanceAccount({ opened, period, onPeriod, onClose }: BalanceAccountProps): ReactNode {
  const text = useText();
  const { t } = text;
  const { simulated } = usePreferences();
  const live = useLive((state) => state.balance);
  const from = periodStart(period, text.now);
  const query = withSimulated(new URLSearchParams({ from }), simulated);
  const longer = useQuery({
    queryKey: ["balance", query.toString()],
    queryFn: ({ signal }) => api<Balance>("GET", `/api/balance?${query.toString()}`, { signal }),
    enabled: opened && period !== "today",
    refetchInterval: REFRESH_MS,
  });
  const balance = period === "today" ? live : longer.data;
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      size={760}
      title={t("balance.title")}
      classNames={{ content: "balance" }}
      closeButtonProps={{ "aria-label": t("balance.close") }}
      transitionProps={{ duration: 120 }}
    >
      <fieldset className="periods" aria-label={t("balance.period")}>
        {BALANCE_PERIODS.map((value) => (
          <button key={value} type="button" aria-pressed={value === period} onClick={() => onPeriod(value)}>
            {t(`balance.${value}`)}
          </button>
        ))}
      </fieldset>
      <Loaded data={balance} error={period === "today" ? null : longer.error} again={() => void longer.refetch()}>
        {(loaded) => <Account balance={loaded} since={bareMoment(from, text)} />}
      </Loaded>
    </Modal>
  );
}

function Account({ balance, since }: { balance: Balance; since: string }): ReactNode {
  const { t, locale } = useText();
  const { events, receipts, retries } = balance;
  const number = (value: number): string => formatCount(value, locale);
  const filed = events.stored + events.duplicate + events.quarantined;
  return (
    <>
      <div className="account">
        <dl aria-label={t("balance.debit")}>
          <dt className="side-name">{t("balance.debit")}</dt>
          <dd className="side-name">{t("balance.events")}</dd>
          <dt>{t("balance.accepted")}</dt>
          <dd>{number(events.accepted)}</dd>
        </dl>
        <dl aria-label={t("balance.credit")}>
          <dt className="side-name">{t("balance.credit")}</dt>
          <dd className="side-name">{t("balance.events")}</dd>
          <dt>
            {t("balance.stored")}
            {events.twin === 0 ? null : (
              <small>{t("balance.twins", { count: events.twin, formatted: number(events.twin) })}</small>
            )}
          </dt>
          <dd>{number(events.stored)}</dd>
          <dt>{t("balance.duplicates")}</dt>
          <dd>{number(events.duplicate)}</dd>
          <dt>{t("balance.quarantined")}</dt>
          <dd>{number(events.quarantined)}</dd>
        </dl>
        <dl className="sum">
          <dt>{t("balance.sum")}</dt>
          <dd>{number(events.accepted)}</dd>
        </dl>
        <dl className="sum">
          <dt>{t("balance.sum")}</dt>
          <dd>{number(filed)}</dd>
        </dl>
      </div>
      <dl className={`difference ${events.lost === 0 ? "ok" : "bad"}`}>
        <dt>{t("balance.difference")}</dt>
        <dd>{number(events.lost)}</dd>
      </dl>
      <p className="muted">{t("balance.since", { since })}</p>
      <p className="muted">
        {t("balance.receipts", { accepted: number(receipts.accepted), pending: number(receipts.pending) })}
      </p>
      <p className="muted">
        {t("balance.retries", {
          attempted: number(retries.attempted),
          rescued: number(retries.rescued),
          exhausted: number(retries.exhausted),
        })}
      </p>
    </>
  );
}
