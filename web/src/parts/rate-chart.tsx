import { Skeleton } from "@mantine/core";
import { type KeyboardEvent, type PointerEvent, type ReactNode, useState } from "react";
import type { RateSpan } from "../../../src/views/contract-live.ts";
import type { TextContext } from "../text/context.ts";
import type { Mark } from "../text/kinds.ts";
import { formatCount, formatRate } from "../text/number.ts";
import { RATE_KINDS, type RateBin, rateBins, type RateKind, roundUp } from "../text/rates.ts";
import { axisTime, bareMoment, clock } from "../text/time.ts";
import { Sign } from "./mark.tsx";
import { Failure } from "./states.tsx";
import { useRates } from "./use-rates.ts";
import { useText } from "./use-text.ts";

const SPANS = ["15min", "24h", "30d"] as const satisfies readonly RateSpan[];

const MARKS: Readonly<Record<RateKind, Mark>> = {
  delivered: { tone: "ok", shape: "full" },
  engaged: { tone: "ok", shape: "ring" },
  processed: { tone: "way", shape: "half" },
  deferred: { tone: "late", shape: "quarter" },
  failed: { tone: "bad", shape: "triangle" },
  objected: { tone: "complaint", shape: "square" },
  other: { tone: "unknown", shape: "ring" },
};

const TICK_MS = 2_000;

/** Events per second by kind, stacked, with the retries below them on the same axis: cause and effect stand together. */
export function RateChart(): ReactNode {
  const text = useText(TICK_MS);
  const { t, locale } = text;
  const [span, setSpan] = useState<RateSpan>("15min");
  const [chosen, setChosen] = useState<number>();
  const { rates, error, again } = useRates(span);
  const bins = rates === undefined ? undefined : rateBins(rates, text.now);
  const events = bins?.reduce((sum, bin) => sum + bin.events, 0) ?? 0;
  const shown = chosen === undefined ? undefined : bins?.[chosen];
  return (
    <section className="rates" aria-labelledby="rates">
      <div className="section-head">
        <h2 id="rates">{t("rates.title")}</h2>
        <fieldset className="periods" aria-label={t("rates.span")}>
          {SPANS.map((value) => (
            <button
              key={value}
              type="button"
              aria-pressed={value === span}
              onClick={() => {
                setSpan(value);
                setChosen(undefined);
              }}
            >
              {t(`rates.${value}`)}
            </button>
          ))}
        </fieldset>
      </div>
      {bins === undefined && error !== null ? <Failure error={error} again={again} /> : null}
      {bins === undefined && error === null ? <Skeleton height={168} /> : null}
      {bins === undefined || bins.length === 0 ? null : (
        <>
          <Drawing bins={bins} chosen={chosen} onChosen={setChosen} text={text} />
          <Legend bins={bins} shown={shown} text={text} />
          {events === 0 ? <p className="rates-empty muted">{t("rates.empty")}</p> : null}
        </>
      )}
      <output className="hidden">
        {shown === undefined
          ? ""
          : `${bareMoment(shown.at, text)}: ${t("rates.perSecond", { rate: formatRate(shown.events / shown.seconds, locale) })}`}
      </output>
    </section>
  );
}

/** The drawing's own units; it is stretched to the width there is. */
const WIDTH = 1_000;
const HEIGHT = 132;
const RETRY_HEIGHT = 10;

interface DrawingProps {
  bins: readonly RateBin[];
  chosen: number | undefined;
  onChosen: (index: number | undefined) => void;
  text: TextContext;
}

function Drawing({ bins, chosen, onChosen, text }: DrawingProps): ReactNode {
  const { t, locale } = text;
  const rateOf = (bin: RateBin): number => bin.events / bin.seconds;
  const max = Math.max(...bins.map(rateOf));
  const top = roundUp(max);
  const width = WIDTH / bins.length;
  const sum = (count: (bin: RateBin) => number): string =>
    formatCount(
      bins.reduce((total, bin) => total + count(bin), 0),
      locale,
    );
  const label = t("rates.chart", {
    sum: sum((bin) => bin.events),
    retries: sum((bin) => bin.retries),
    max: formatRate(max, locale),
  });

  const onPointer = (event: PointerEvent<HTMLElement>): void => {
    const box = event.currentTarget.getBoundingClientRect();
    const at = Math.floor(((event.clientX - box.left) / box.width) * bins.length);
    onChosen(Math.min(bins.length - 1, Math.max(0, at)));
  };
  const onKey = (event: KeyboardEvent): void => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape") onChosen(undefined);
    if (step === undefined) return;
    event.preventDefault();
    onChosen(Math.min(bins.length - 1, Math.max(0, (chosen ?? bins.length) + step)));
  };
  return (
    <div className="chart">
      <div className="chart-scale" aria-hidden="true">
        <span>{t("rates.perSecond", { rate: formatRate(top, locale) })}</span>
        <span>{formatRate(top / 2, locale)}</span>
        <span>0</span>
      </div>
      <button
        type="button"
        className="chart-area"
        aria-label={`${label} ${t("rates.hint")}`}
        onPointerMove={onPointer}
        onPointerLeave={() => onChosen(undefined)}
        onKeyDown={onKey}
        onBlur={() => onChosen(undefined)}
      >
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT + RETRY_HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          <path className="chart-line" d={`M0 .5H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}`} />
          {RATE_KINDS.map((kind) => (
            <path key={kind} className={`chart-kind ${kind}`} d={layerPath(bins, kind, top)} />
          ))}
          <path className="chart-base" d={`M0 ${HEIGHT}H${WIDTH}`} />
          <path
            className="chart-retries"
            d={bins.map((bin, index) => (bin.retries > 0 ? `M${(index + 0.5) * width} ${HEIGHT + 2}v8` : "")).join("")}
          />
          {chosen === undefined ? null : (
            <path className="chart-chosen" d={`M${(chosen + 0.5) * width} 0V${HEIGHT + RETRY_HEIGHT}`} />
          )}
        </svg>
      </button>
      <div className="chart-times" aria-hidden="true">
        {axisBins(bins).map((bin) => (
          <span key={bin.at}>{axisTime(bin.at, bins, text)}</span>
        ))}
      </div>
    </div>
  );
}

const TIMES_SHOWN = 5;

function axisBins(bins: readonly RateBin[]): RateBin[] {
  const last = bins.length - 1;
  const places = Array.from({ length: TIMES_SHOWN }, (_, place) => Math.round((place * last) / (TIMES_SHOWN - 1)));
  return [...new Set(places)].flatMap((place) => bins[place] ?? []);
}

/** One kind, from the top of those below it to its own top: steps, since a bucket is counted and not interpolated. */
function layerPath(bins: readonly RateBin[], kind: RateKind, top: number): string {
  const width = WIDTH / bins.length;
  const heightOf = (events: number, bin: RateBin): number => HEIGHT - (events / bin.seconds / top) * HEIGHT;
  const below = RATE_KINDS.slice(0, RATE_KINDS.indexOf(kind));
  return bins
    .flatMap((bin, index) => {
      if (bin.counts[kind] === 0) return [];
      const under = below.reduce((sum, other) => sum + bin.counts[other], 0);
      const low = heightOf(under, bin).toFixed(2);
      const high = heightOf(under + bin.counts[kind], bin).toFixed(2);
      return `M${(index * width).toFixed(2)} ${low}V${high}h${width.toFixed(2)}V${low}z`;
    })
    .join("");
}

/** What the colours mean, and how many: in the whole period, or in the place that is pointed at. */
function Legend({
  bins,
  shown,
  text,
}: {
  bins: readonly RateBin[];
  shown: RateBin | undefined;
  text: TextContext;
}): ReactNode {
  const { t, locale } = text;
  const counted = shown === undefined ? bins : [shown];
  const sumOf = (count: (bin: RateBin) => number): number => counted.reduce((sum, bin) => sum + count(bin), 0);
  const retries = sumOf((bin) => bin.retries);
  return (
    <ul className="legend" aria-hidden={shown === undefined ? undefined : true}>
      <li className="legend-when">
        {shown === undefined
          ? t("rates.sum", {
              formatted: formatCount(
                sumOf((bin) => bin.events),
                locale,
              ),
            })
          : `${bins.length > 100 ? bareMoment(shown.at, text) : clock(shown.at, text)} · ${t("rates.perSecond", {
              rate: formatRate(shown.events / shown.seconds, locale),
            })}`}
      </li>
      {RATE_KINDS.filter((kind) => kind !== "other" || bins.some((bin) => bin.counts.other > 0)).map((kind) => {
        const count = sumOf((bin) => bin.counts[kind]);
        return (
          <li key={kind} className={count === 0 ? "none" : ""}>
            <Sign mark={MARKS[kind]} />
            {t(`rates.${kind}`)} <b>{formatCount(count, locale)}</b>
          </li>
        );
      })}
      <li className={retries === 0 ? "none" : ""}>
        <span className="legend-retries" aria-hidden="true" />
        {t("rates.retries")} <b>{formatCount(retries, locale)}</b>
      </li>
    </ul>
  );
}
