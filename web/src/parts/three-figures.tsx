import { Skeleton, Tooltip } from "@mantine/core";
import type { ReactNode } from "react";
import { formatCount } from "../text/number.ts";
import { ago, clock } from "../text/time.ts";
import { useLive } from "./live.tsx";
import { Rolling } from "./rolling.tsx";
import { useText } from "./use-text.ts";

interface FigureProps {
  label: string;
  value: number | undefined;
  tone?: "ok" | "bad";
  name: string;
  hint?: string;
  children: ReactNode;
  onOpen: () => void;
}

function Figure({ label, value, tone, name, hint, children, onOpen }: FigureProps): ReactNode {
  const { locale } = useText();
  const figure = (
    <button type="button" className="figure" onClick={onOpen} data-figure={name} data-value={value}>
      <span className="figure-label">{label}</span>
      <span className={`figure-value ${tone ?? ""}`}>
        {value === undefined ? <Skeleton height="1.15em" width={110} /> : <Rolling value={value} locale={locale} />}
      </span>
      <span className="figure-sub">{value === undefined ? <Skeleton height="1lh" width={160} /> : children}</span>
    </button>
  );
  return hint === undefined ? (
    figure
  ) : (
    <Tooltip label={hint} openDelay={500}>
      {figure}
    </Tooltip>
  );
}

const TICK_MS = 1_000;

/** Processed, retries, lost. Each has a line under it that makes it checkable, and opens the balance. */
export function ThreeFigures({ onBalance }: { onBalance: () => void }): ReactNode {
  const text = useText(TICK_MS);
  const { t, locale } = text;
  const balance = useLive((state) => state.balance);
  const balanceAt = useLive((state) => state.balanceAt);
  const isLive = useLive((state) => state.connection === "live");
  const count = (value: number | undefined): string => formatCount(value ?? 0, locale);

  const events = balance?.events;
  const processed = events === undefined ? undefined : events.stored + events.duplicate + events.quarantined;
  const duplicates = events?.duplicate ?? 0;
  const countedAt = balanceAt ?? text.now;
  return (
    <section className="three" aria-label={t("live.figures")}>
      <Figure name="processed" label={t("live.processed")} value={processed} onOpen={onBalance}>
        {t("live.processedSub", { accepted: count(events?.accepted) })} ·{" "}
        {t("live.duplicates", { count: duplicates, formatted: count(duplicates) })} ·{" "}
        <span className="link">{t("live.balance")}</span>
      </Figure>
      <Figure
        name="retries"
        label={t("live.retries")}
        hint={t("live.retriesHint")}
        value={balance?.retries.attempted}
        onOpen={onBalance}
      >
        {t("live.retriesSub", {
          rescued: count(balance?.retries.rescued),
          exhausted: count(balance?.retries.exhausted),
        })}
      </Figure>
      <Figure
        name="lost"
        label={t("live.lost")}
        value={events?.lost}
        tone={events?.lost === 0 ? "ok" : "bad"}
        onOpen={onBalance}
      >
        {isLive
          ? t("live.counted", { ago: ago(countedAt, text) })
          : t("live.countedStale", { time: clock(countedAt, text) })}
      </Figure>
    </section>
  );
}
