import { DAY_MS } from "../days.ts";
import { STATS_METRICS, type StatsMetric } from "../sendgrid/record-types.ts";
import type { Truth, TruthEvent } from "./truth.ts";

/** GET /v3/stats, as tsg_stats_v3.yaml describes it. Days are those of the account's time zone. */

export type Metrics = Record<StatsMetric, number>;

/** A drop's reason, without its capitals, and the metric that counts it. */
const DROPS: readonly [text: string, metric: StatsMetric][] = [
  ["bounced address", "bounce_drops"],
  ["spam reporting address", "spam_report_drops"],
  ["unsubscribed address", "unsubscribe_drops"],
  ["invalid", "invalid_emails"],
];

/** Thirteen months and a little: what SendGrid keeps. */
const DAYS_MAX = 400;
/** No zone changes its offset at another moment than a full quarter of an hour, nor has one that is no multiple of it. */
const QUARTER_MS = 900_000;

export type StatsAnswer =
  | { ok: true; body: { date: string; stats: { metrics: Metrics }[] }[] }
  | { ok: false; field: string; message: string };

export interface StatsSource {
  truth: Truth;
  timeZone: string;
  /** Says what today is, the default end. */
  nowMs: number;
  /** Events that were heard of later are not counted yet. */
  heardUntilMs: number;
  /** By day: what its totals were moved by. */
  moved: ReadonlyMap<string, Partial<Record<string, number>>>;
}

/** `parameters` are the query string's. */
export function answerStats(source: StatsSource, parameters: URLSearchParams): StatsAnswer {
  const dayAt = dayIn(source.timeZone);
  const start = dayOf(parameters.get("start_date"));
  if (start === undefined)
    return { ok: false, field: "start_date", message: "start_date is required and must be YYYY-MM-DD" };
  const end = dayOf(parameters.has("end_date") ? parameters.get("end_date") : dayAt(source.nowMs));
  if (end === undefined || end < start)
    return { ok: false, field: "end_date", message: "end_date must be YYYY-MM-DD and not before start_date" };
  if (end - start > DAYS_MAX * DAY_MS) return { ok: false, field: "start_date", message: `more than ${DAYS_MAX} days` };
  const period = parameters.get("aggregated_by") ?? "day";
  if (!["day", "week", "month"].includes(period))
    return { ok: false, field: "aggregated_by", message: "aggregated_by must be day, week or month" };

  const periods = new Map<string, Metrics>();
  const byDay = new Map<string, Metrics>();
  for (let day = start; day <= end; day += DAY_MS) {
    const date = periodStart(day, period);
    const metrics = periods.get(date) ?? emptyMetrics();
    periods.set(date, metrics);
    byDay.set(dayText(day), metrics);
    const moved = source.moved.get(dayText(day)) ?? {};
    for (const metric of STATS_METRICS) metrics[metric] += moved[metric] ?? 0;
  }
  count(source, (ms) => byDay.get(dayAt(ms)));
  const offset = Number(parameters.get("offset") ?? 0) || 0;
  const limit = Number(parameters.get("limit") ?? 0) || Infinity;
  return {
    ok: true,
    body: [...periods].slice(offset, offset + limit).map(([date, metrics]) => ({ date, stats: [{ metrics }] })),
  };
}

function count({ truth, heardUntilMs }: StatsSource, metricsAt: (ms: number) => Metrics | undefined): void {
  const opened = new Set<string>();
  const clicked = new Set<string>();
  for (const { event, messageId } of truth.events()) {
    const metrics = event.heardAtMs > heardUntilMs ? undefined : metricsAt(event.at * 1000);
    if (metrics !== undefined) countEvent({ metrics, event, messageId, opened, clicked });
  }
}

/** The day of a moment, as YYYY-MM-DD. The same day lasts 23 or 25 hours where the clocks are changed. */
function dayIn(timeZone: string): (ms: number) => string {
  // The Canadian form of a date is the ISO one.
  const format = new Intl.DateTimeFormat("en-CA", { timeZone, year: "numeric", month: "2-digit", day: "2-digit" });
  const known = new Map<number, string>();
  return (ms) => {
    const quarter = Math.floor(ms / QUARTER_MS);
    const day = known.get(quarter) ?? format.format(quarter * QUARTER_MS);
    known.set(quarter, day);
    return day;
  };
}

/** The days of a calendar, each as its midnight in UTC: there every day has 24 hours. */
function dayOf(text: string | null): number | undefined {
  if (text === null || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined;
  const ms = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(ms) ? undefined : ms;
}

function dayText(dayMs: number): string {
  return new Date(dayMs).toISOString().slice(0, 10);
}

function periodStart(dayMs: number, period: string): string {
  const day = new Date(dayMs);
  if (period === "month") day.setUTCDate(1);
  if (period === "week") day.setUTCDate(day.getUTCDate() - ((day.getUTCDay() + 6) % 7));
  return day.toISOString().slice(0, 10);
}

function emptyMetrics(): Metrics {
  return Object.fromEntries(STATS_METRICS.map((name) => [name, 0])) as Metrics;
}

interface Counting {
  metrics: Metrics;
  event: TruthEvent;
  messageId: string | undefined;
  /** Messages already counted as opened or clicked. */
  opened: Set<string>;
  clicked: Set<string>;
}

function countEvent(counting: Counting): void {
  const { metrics, event, messageId, opened, clicked } = counting;
  if (event.type === "open") addUnique(metrics, "unique_opens", messageId, opened);
  if (event.type === "click") addUnique(metrics, "unique_clicks", messageId, clicked);
  for (const metric of metricsOf(event)) metrics[metric] += 1;
}

function addUnique(metrics: Metrics, metric: StatsMetric, messageId: string | undefined, seen: Set<string>): void {
  if (messageId === undefined || seen.has(messageId)) return;
  seen.add(messageId);
  metrics[metric] += 1;
}

function metricsOf(event: TruthEvent): StatsMetric[] {
  switch (event.type) {
    case "processed":
      return ["requests", "processed"];
    case "dropped": {
      const reason = event.wire["reason"];
      const text = typeof reason === "string" ? reason.toLowerCase() : "";
      const metric = DROPS.find(([beginning]) => text.startsWith(beginning))?.[1];
      return metric === undefined ? ["requests"] : ["requests", metric];
    }
    case "deferred":
    case "delivered":
      return [event.type];
    case "bounce":
      return [event.wire["type"] === "blocked" ? "blocks" : "bounces"];
    case "open":
      return ["opens"];
    case "click":
      return ["clicks"];
    case "spamreport":
      return ["spam_reports"];
    case "unsubscribe":
      return ["unsubscribes"];
    default:
      return [];
  }
}
