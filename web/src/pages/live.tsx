import { type ReactNode, useState } from "react";
import { useLocation } from "wouter";
import { useSearch } from "wouter/use-browser-location";
import { BalanceAccount, type BalancePeriod, isBalancePeriod } from "../parts/balance-account.tsx";
import { EmptyStart } from "../parts/empty-start.tsx";
import { useLive } from "../parts/live.tsx";
import { OpenAlerts } from "../parts/open-alerts.tsx";
import { Pipeline } from "../parts/pipeline.tsx";
import { RateChart } from "../parts/rate-chart.tsx";
import { Stream } from "../parts/stream.tsx";
import { ThreeFigures } from "../parts/three-figures.tsx";
import { useText } from "../parts/use-text.ts";
import { useTitle } from "../parts/use-title.ts";

/** What is happening now: three figures that must add up, where everything is, and each event as it is filed. */
export function LivePage(): ReactNode {
  const { t } = useText();
  const [, navigate] = useLocation();
  const asked = new URLSearchParams(useSearch()).get("balance");
  const [lastPeriod, setLastPeriod] = useState<BalancePeriod>("today");
  const status = useLive((state) => state.status);
  const isEmpty = status !== undefined && status.sources.every((source) => source.lastReceiptAt === null);
  useTitle(t("live.title"));

  const show = (period: BalancePeriod): void => {
    setLastPeriod(period);
    navigate(`/?balance=${period}`, { replace: asked !== null });
  };
  return (
    <>
      <h1 className="hidden">{t("live.title")}</h1>
      <OpenAlerts />
      <ThreeFigures onBalance={() => show("today")} />
      {isEmpty ? (
        <EmptyStart status={status} />
      ) : (
        <>
          <RateChart />
          <Pipeline />
          <Stream />
        </>
      )}
      <BalanceAccount
        opened={asked !== null}
        period={isBalancePeriod(asked) ? asked : lastPeriod}
        onPeriod={show}
        onClose={() => navigate("/", { replace: true })}
      />
    </>
  );
}
