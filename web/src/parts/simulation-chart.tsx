import { type PointerEvent, type ReactNode, useState } from "react";
import type { SimulationSample } from "../../../src/views/contract-simulation.ts";
import { formatCount, formatRate } from "../text/number.ts";
import { courseOf, niceMax, type Point } from "../text/simulation-course.ts";
import { useText } from "./use-text.ts";

/** The drawing's own units; it is stretched to its place. */
const WIDTH = 1_000;
const HEIGHT = 160;
/** Below the area, where the retries stand: on the same axis, so that cause and effect stand together. */
const TICKS = 24;

/** Events processed per second as an area, retries as ticks below it. */
export function SimulationChart({ samples }: { samples: readonly SimulationSample[] }): ReactNode {
  const { t } = useText();
  const [chosen, setChosen] = useState<number>();
  const points = courseOf(samples);
  const last = points.at(-1);
  if (last === undefined) {
    return (
      <div className="course empty">
        <p className="muted">{t("simulation.waiting")}</p>
      </div>
    );
  }
  const shown = chosen === undefined ? undefined : points[chosen];
  return (
    <figure className="course">
      <figcaption>
        <span className="way">■</span> {t("simulation.chartProcessed")} <span className="late">┃</span>{" "}
        {t("simulation.chartRetries")}
        <span className="shown">{shown === undefined ? null : <Shown point={shown} />}</span>
      </figcaption>
      <Plot points={points} seconds={last.toSeconds} shown={shown} onChosen={setChosen} />
    </figure>
  );
}

interface PlotProps {
  points: readonly Point[];
  /** The whole length of the run. */
  seconds: number;
  shown: Point | undefined;
  onChosen: (index: number | undefined) => void;
}

function Plot({ points, seconds, shown, onChosen }: PlotProps): ReactNode {
  const { t, locale } = useText();
  const max = niceMax(Math.max(...points.map(({ rate }) => rate)));
  const x = (at: number): number => (at / seconds) * WIDTH;
  const y = (rate: number): number => HEIGHT - (rate / max) * HEIGHT;
  const choose = (event: PointerEvent<SVGSVGElement>): void => {
    const box = event.currentTarget.getBoundingClientRect();
    const at = points.findIndex(({ toSeconds }) => toSeconds >= ((event.clientX - box.left) / box.width) * seconds);
    onChosen(at === -1 ? undefined : at);
  };
  const label = t("simulation.chartLabel", {
    seconds: formatCount(seconds, locale),
    max: formatRate(max, locale),
    retries: formatCount(
      points.reduce((sum, point) => sum + point.retries, 0),
      locale,
    ),
  });
  return (
    <div className="plot">
      <span className="axis-max">{t("simulation.perSecond", { rate: formatRate(max, locale) })}</span>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT + TICKS}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
        onPointerMove={choose}
        onPointerLeave={() => onChosen(undefined)}
      >
        <path className="area" d={areaOf(points, x, y)} />
        {shown === undefined ? null : (
          <rect
            className="chosen"
            x={x(shown.fromSeconds)}
            y={0}
            width={x(shown.toSeconds) - x(shown.fromSeconds)}
            height={HEIGHT + TICKS}
          />
        )}
        <line className="base" x1={0} x2={WIDTH} y1={HEIGHT} y2={HEIGHT} />
        {points.map((point) => (
          <RetryTick key={point.toSeconds} point={point} x={x((point.fromSeconds + point.toSeconds) / 2)} />
        ))}
      </svg>
      <span className="axis-time">
        <span>{t("simulation.seconds", { formatted: "0" })}</span>
        <span>{t("simulation.seconds", { formatted: formatCount(seconds, locale) })}</span>
      </span>
    </div>
  );
}

function RetryTick({ point, x }: { point: Point; x: number }): ReactNode {
  if (point.retries === 0) return null;
  return <line className="tick" x1={x} x2={x} y1={HEIGHT + 4} y2={HEIGHT + Math.min(TICKS, 10 + 4 * point.retries)} />;
}

function Shown({ point }: { point: Point }): ReactNode {
  const { t, locale } = useText();
  return (
    <>
      {t("simulation.seconds", { formatted: formatCount(point.toSeconds, locale) })}:{" "}
      {t("simulation.perSecond", { rate: formatRate(point.rate, locale) })}
      {point.retries === 0 ? "" : ` · ${formatCount(point.retries, locale)} ${t("simulation.chartRetries")}`}
    </>
  );
}

/** Steps, since each point says what happened within its span. */
function areaOf(points: readonly Point[], x: (seconds: number) => number, y: (rate: number) => number): string {
  const steps = points.map(
    ({ fromSeconds, toSeconds, rate }) =>
      `L${x(fromSeconds).toFixed(1)} ${y(rate).toFixed(1)}L${x(toSeconds).toFixed(1)} ${y(rate).toFixed(1)}`,
  );
  return `M0 ${HEIGHT}${steps.join("")}L${WIDTH} ${HEIGHT}Z`;
}
