import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/**
 * Every metric of the process, in one place; `GET /metrics` shows them. Counters count since the process started: what
 * must survive a restart is in the tallies. Labels take values from short, known lists only, so that no caller can make
 * the registry grow.
 */
export const registry = new Registry();
// The event loop's lag is looked at by each scrape. The histogram of it wakes the process a hundred times a second, which was
// a third of what an idle service used, and counts its own period as a delay.
collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 1_000_000 });
for (const statistic of ["min", "max", "mean", "stddev", "p50", "p90", "p99"])
  registry.removeSingleMetric(`nodejs_eventloop_lag_${statistic}_seconds`);

const registers = [registry];

export const receiptsAccepted = new Counter({
  name: "holdfast_receipts_accepted_total",
  help: "POSTs committed and answered with 200.",
  labelNames: ["source"] as const,
  registers,
});

/** `source` is the configured name, or empty where the POST named none that exists. */
export const receiptsRefused = new Counter({
  name: "holdfast_receipts_refused_total",
  help: "POSTs answered with an error, by its code.",
  labelNames: ["source", "code"] as const,
  registers,
});

/** SendGrid is known to give up after 10 s or less, and everything under 1 ms is one bucket. */
export const answerSeconds = new Histogram({
  name: "holdfast_answer_seconds",
  help: "From a POST's arrival to its answer.",
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  registers,
});

/** Up to APPEND_GROUP_ROWS_MAX. */
export const groupCommitRows = new Histogram({
  name: "holdfast_group_commit_rows",
  help: "Receipts that shared one commit.",
  buckets: [1, 2, 4, 8, 16, 32, 64],
  registers,
});

export const projectedReceipts = new Counter({
  name: "holdfast_projected_receipts_total",
  help: "Receipts projected (filed) or put back for later (failed).",
  labelNames: ["result"] as const,
  registers,
});

export const projectedEvents = new Counter({
  name: "holdfast_projected_events_total",
  help: "Items of projected receipts: stored, duplicate or quarantined. A twin is counted as stored and as twin.",
  labelNames: ["result"] as const,
  registers,
});

export const deadlockRetries = new Counter({
  name: "holdfast_deadlock_retries_total",
  help: "Retries after a deadlock: attempted, rescued (the work succeeded after one) or exhausted (all five failed).",
  labelNames: ["result"] as const,
  registers,
});

/** Read from the database at each scrape, so that it is right whichever process projects. */
export const inboxReceipts = new Gauge({
  name: "holdfast_inbox_receipts",
  help: "Receipts that wait for projection.",
  registers,
});

export const inboxOldestSeconds = new Gauge({
  name: "holdfast_inbox_oldest_seconds",
  help: "Age of the oldest receipt that waits for projection; 0 when none does.",
  registers,
});

/** Read from the database at each scrape. Kinds are a short list. */
export const alertsOpen = new Gauge({
  name: "holdfast_alerts_open",
  help: "Alerts that are open, by kind.",
  labelNames: ["kind"] as const,
  registers,
});

export const reconciliationCalls = new Counter({
  name: "holdfast_reconciliation_calls_total",
  help: "Calls to SendGrid's records, by what was asked (logs, messages, stats, suppressions) and by how they ended.",
  labelNames: ["api", "result"] as const,
  registers,
});

export const enrichmentCalls = new Counter({
  name: "holdfast_enrichment_calls_total",
  help: "Calls to SendGrid's API, by API (logs, messages) and by how they ended.",
  labelNames: ["api", "result"] as const,
  registers,
});

export const liveClients = new Gauge({ name: "holdfast_live_clients", help: "Live pages connected.", registers });

export const liveCutOff = new Counter({
  name: "holdfast_live_cut_off_total",
  help: "Live connections closed because their reader did not read.",
  registers,
});
