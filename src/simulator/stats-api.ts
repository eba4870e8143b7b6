import type { Truth, TruthEvent } from "./truth.ts";

/** GET /v3/stats, as tsg_stats_v3.yaml describes it. Days are UTC: the simulated account has set no other time zone. */

const METRICS = [
  "blocks",
  "bounce_drops",
  "bounces",
  "clicks",
  "deferred",
  "delivered",
  "invalid_emails",
  "opens",
  "processed",
  "requests",
  "spam_report_drops",
  "spam_reports",
  "unique_clicks",
  "unique_opens",
  "unsubscribe_drops",
  "unsubscribes",
] as const;
type Metric = (typeof METRICS)[number];
type Metrics = Record<Metric, number>;

/** A drop's reason, without its capitals, and the metric that counts it. */
const DROPS: readonly [text: string, metric: Metric][] = [
  ["bounced address", "bounce_drops"],
  ["spam reporting address", "spam_report_drops"],
  ["unsubscribed address", "unsubscribe_drops"],
  ["invalid", "invalid_emails"],
];

const DAY_MS = 86_400_000;
/** Thirteen months and a little: what SendGrid keeps. */
const DAYS_MAX = 400;

export type StatsAnswer =
  | { ok: true; body: { date: string; stats: { metrics: Metrics }[] }[] }
  | { ok: false; field: string; message: string };

/** `parameters` are the query string's; `nowMs` says what today is, the default end. */
export function answerStats(truth: Truth, parameters: URLSearchParams, nowMs: number): StatsAnswer {
  const start = dayOf(parameters.get("start_date"));
  if (start === undefined)
    return { ok: false, field: "start_date", message: "start_date is required and must be YYYY-MM-DD" };
  const end = parameters.has("end_date") ? dayOf(parameters.get("end_date")) : Math.floor(nowMs / DAY_MS) * DAY_MS;
  if (end === undefined || end < start)
    return { ok: false, field: "end_date", message: "end_date must be YYYY-MM-DD and not before start_date" };
  if (end - start > DAYS_MAX * DAY_MS) return { ok: false, field: "start_date", message: `more than ${DAYS_MAX} days` };
  const period = parameters.get("aggregated_by") ?? "day";
  if (!["day", "week", "month"].includes(period))
    return { ok: false, field: "aggregated_by", message: "aggregated_by must be day, week or month" };

  const periods = new Map<string, Metrics>();
  for (let day = start; day <= end; day += DAY_MS) {
    const date = periodStart(day, period);
    if (!periods.has(date)) periods.set(date, emptyMetrics());
  }
  const opened = new Set<string>();
  const clicked = new Set<string>();
  for (const { event, messageId } of truth.events()) {
    const atMs = event.at * 1000;
    const metrics = atMs < start || atMs >= end + DAY_MS ? undefined : periods.get(periodStart(atMs, period));
    if (metrics !== undefined) countEvent({ metrics, event, messageId, opened, clicked });
  }
  const offset = Number(parameters.get("offset") ?? 0) || 0;
  const limit = Number(parameters.get("limit") ?? 0) || Infinity;
  return {
    ok: true,
    body: [...periods].slice(offset, offset + limit).map(([date, metrics]) => ({ date, stats: [{ metrics }] })),
  };
}

function dayOf(text: string | null): number | undefined {
  if (text === null || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined;
  const ms = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(ms) ? undefined : ms;
}

function periodStart(ms: number, period: string): string {
  const day = new Date(Math.floor(ms / DAY_MS) * DAY_MS);
  if (period === "month") day.setUTCDate(1);
  if (period === "week") day.setUTCDate(day.getUTCDate() - ((day.getUTCDay() + 6) % 7));
  return day.toISOString().slice(0, 10);
}

function emptyMetrics(): Metrics {
  return Object.fromEntries(METRICS.map((name) => [name, 0])) as Metrics;
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

function addUnique(metrics: Metrics, metric: Metric, messageId: string | undefined, seen: Set<string>): void {
  if (messageId === undefined || seen.has(messageId)) return;
  seen.add(messageId);
  metrics[metric] += 1;
}

function metricsOf(event: TruthEvent): Metric[] {
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
