import type { ReactNode } from "react";
import type { SimulationResult, SimulationRun } from "../../../src/views/contract-simulation.ts";
import type { Mark } from "../text/kinds.ts";
import { formatCount, formatRate } from "../text/number.ts";
import { moment } from "../text/time.ts";
import { Foreign } from "./foreign.tsx";
import { State } from "./mark.tsx";
import { usePreferences } from "./preferences.tsx";
import { Rolling } from "./rolling.tsx";
import { SimulationChart } from "./simulation-chart.tsx";
import { useText } from "./use-text.ts";

const PHASE_MARKS: Readonly<Record<SimulationRun["phase"], Mark>> = {
  posting: { tone: "way", shape: "half" },
  filing: { tone: "way", shape: "half" },
  comparing: { tone: "way", shape: "half" },
  done: { tone: "ok", shape: "full" },
  failed: { tone: "bad", shape: "triangle" },
};

/** The present run, or the last: three figures that count, the course, and at the end the result by id. */
export function SimulationRunView({ run }: { run: SimulationRun }): ReactNode {
  const { t } = useText();
  return (
    <section className="run" aria-labelledby="run">
      <div className="section-head">
        <h2 id="run">
          <State mark={PHASE_MARKS[run.phase]}>{t(`simulation.phases.${run.phase}`)}</State>
        </h2>
        <Progress run={run} />
      </div>
      <Figures run={run} />
      <SimulationChart samples={run.samples} />
      {run.result === null ? null : <Result run={run} result={run.result} />}
      {run.error === null ? null : (
        <p className="bad" role="alert">
          <Foreign>{t("simulation.failed", { error: run.error })}</Foreign>
        </p>
      )}
    </section>
  );
}

function Progress({ run }: { run: SimulationRun }): ReactNode {
  const { t, locale } = useText();
  const { order, forced, posts } = run;
  const count = (value: number): string => formatCount(value, locale);
  const parts = [
    t("simulation.progress", { done: count(run.acknowledged), all: count(order.events) }),
    posts.again === 0 ? "" : t("simulation.sentAgain", { count: posts.again, formatted: count(posts.again) }),
    order.deadlocks === 0
      ? ""
      : t("simulation.forcedDeadlocks", { done: count(forced.deadlocks), all: count(order.deadlocks) }),
    connectionText(run, t("simulation.forcedConnection"), t("simulation.forcedConnectionNot")),
  ];
  return <span className="muted">{parts.filter((part) => part !== "").join(" · ")}</span>;
}

function connectionText({ order, forced }: SimulationRun, dropped: string, notYet: string): string {
  if (!order.dropConnection) return "";
  return forced.connections > 0 ? dropped : notYet;
}

function Figures({ run }: { run: SimulationRun }): ReactNode {
  const { t, locale } = useText();
  const { figures, result } = run;
  const count = (value: number): string => formatCount(value, locale);
  const processed = figures.stored + figures.duplicate + figures.quarantined;
  // What is missing by either of the two proofs is missing.
  const lost = Math.max(Math.abs(figures.lost), result?.lost ?? 0);
  return (
    <div className="three">
      <Figure name="processed" label={t("simulation.processed")} value={processed}>
        {t("simulation.processedSub", { accepted: count(figures.accepted) })} ·{" "}
        {t("simulation.duplicatesSub", { count: figures.duplicate, formatted: count(figures.duplicate) })}
      </Figure>
      <Figure name="retries" label={t("simulation.retries")} value={figures.retries}>
        {t("simulation.retriesSub", { rescued: count(figures.rescued), exhausted: count(figures.exhausted) })}
      </Figure>
      <Figure name="lost" label={t("simulation.lost")} value={lost} tone={lost === 0 ? "ok" : "bad"}>
        {result === null ? t("simulation.lostLive") : t("simulation.lostChecked")}
      </Figure>
    </div>
  );
}

interface FigureProps {
  name: string;
  label: string;
  value: number;
  tone?: "ok" | "bad";
  children: ReactNode;
}

function Figure({ name, label, value, tone, children }: FigureProps): ReactNode {
  const { locale } = useText();
  return (
    <div className="figure" data-figure={`simulation-${name}`} data-value={value}>
      <span className="figure-label">{label}</span>
      <span className={`figure-value ${tone ?? ""}`}>
        <Rolling value={value} locale={locale} />
      </span>
      <span className="figure-sub">{children}</span>
    </div>
  );
}

function Result({ run, result }: { run: SimulationRun; result: SimulationResult }): ReactNode {
  const text = useText();
  const { t, locale } = text;
  const { simulated, setSimulated } = usePreferences();
  const count = (value: number): { count: number; formatted: string } => ({
    count: value,
    formatted: formatCount(value, locale),
  });
  const isShort =
    run.forced.deadlocks < run.order.deadlocks || (run.order.dropConnection && run.forced.connections === 0);
  return (
    <div
      className={`result ${result.flawless ? "flawless" : "flawed"}`}
      data-result={result.flawless ? "flawless" : "flawed"}
    >
      {result.flawless ? <p className="verdict ok">{t("simulation.resultFlawless")}</p> : null}
      {result.lost > 0 ? <p className="verdict bad">{t("simulation.resultLost", count(result.lost))}</p> : null}
      {result.double > 0 ? <p className="verdict bad">{t("simulation.resultDouble", count(result.double))}</p> : null}
      {result.givenUp > 0 ? (
        <p className="verdict late">{t("simulation.resultGivenUp", count(result.givenUp))}</p>
      ) : null}
      <p>
        {t("simulation.resultSum", {
          processed: formatCount(result.processed, locale),
          acknowledged: formatCount(result.acknowledged, locale),
          seconds: formatRate(result.seconds, locale),
        })}{" "}
        {run.stopped ? t("simulation.resultStopped") : null} {isShort ? t("simulation.resultFew") : null}
      </p>
      <Ids label={t("simulation.lostIds")} ids={result.lostIds} />
      <Ids label={t("simulation.doubleIds")} ids={result.doubleIds} />
      <p className="muted">
        <Foreign>
          {t("simulation.resultSeed", {
            seed: run.order.seed,
            start: result.start === null ? "" : moment(result.start, text),
          })}
        </Foreign>{" "}
        {simulated ? null : (
          <button type="button" className="link" onClick={() => setSimulated(true)}>
            {t("simulation.show")}
          </button>
        )}
      </p>
    </div>
  );
}

function Ids({ label, ids }: { label: string; ids: readonly string[] }): ReactNode {
  if (ids.length === 0) return null;
  return (
    <>
      <p>{label}:</p>
      <ul className="ids mono-text">
        {ids.map((id) => (
          <li key={id}>
            <Foreign>{id}</Foreign>
          </li>
        ))}
      </ul>
    </>
  );
}
