import type { ReactNode } from "react";
import { Link } from "wouter";
import { formatCount } from "../text/number.ts";
import { useLive } from "./live.tsx";
import { usePreferences } from "./preferences.tsx";
import { useText } from "./use-text.ts";

/** The one thing that must never happen, said on every page the moment it does. */
export function LostAlarm(): ReactNode {
  const events = useLive((state) => state.balance?.events);
  const { t, locale } = useText();
  if (events === undefined || events.lost === 0) return null;
  const count = Math.abs(events.lost);
  const formatted = formatCount(count, locale);
  const filed = events.stored + events.duplicate + events.quarantined;
  return (
    <div className="alarm" role="alert">
      <b>{events.lost > 0 ? t("alarm.missing", { count, formatted }) : t("alarm.surplus", { count, formatted })}</b>{" "}
      {t("alarm.sum", { accepted: formatCount(events.accepted, locale), filed: formatCount(filed, locale) })}{" "}
      {t("alarm.todo")} <Link href="/?balance=today">{t("alarm.open")}</Link>
    </div>
  );
}

/** Simulated figures must never be taken for real ones. */
export function SimulatedNotice(): ReactNode {
  const byDefault = useLive((state) => state.status?.simulatedByDefault ?? false);
  const hasTraffic = useLive((state) => state.status?.sources.some((source) => source.lastReceiptAt !== null) ?? false);
  const { simulated, setSimulated } = usePreferences();
  const { t } = useText();
  if (byDefault && hasTraffic) return <p className="simulated-notice">{t("simulated.byDefault")}</p>;
  if (!simulated || byDefault) return null;
  return (
    <p className="simulated-notice">
      {t("simulated.chosen")}{" "}
      <button type="button" className="link" onClick={() => setSimulated(false)}>
        {t("simulated.back")}
      </button>
    </p>
  );
}

export function SimulatedTag(): ReactNode {
  const { t } = useText();
  return (
    <span className="tag" title={t("simulated.hint")}>
      {t("simulated.tag")}
    </span>
  );
}
