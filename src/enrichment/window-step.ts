import { API_OUTAGE_SECONDS_MAX, ENRICH_CALLS_RESERVED, ENRICH_WINDOW_MESSAGES_MAX } from "../limits.ts";
import { tryLockTransaction } from "../postgres/advisory-lock.ts";
import type { Connection, Queryable } from "../postgres/pool.ts";
import type { ProviderApi } from "../sendgrid/api-types.ts";
import { takeCall } from "../sendgrid/budget.ts";
import { askNext } from "./ask.ts";
import { isAsked, nextAsk, planBatch, type Batch } from "./batch.ts";
import { DONE, inTransaction, NOTHING_TO_DO, type Context, type Step } from "./context.ts";
import { claim, countSeconds, dropSimulated, extend, newLease, nextTurn, release, writeMissing } from "./queue.ts";
import { chooseSeconds } from "./windows.ts";

/** What the windows of one process remember between two calls. */
export interface WindowState {
  /** The plan under way. */
  batch: Batch | undefined;
  /** Up to where a run of windows of Email Logs has just asked without a gap; -Infinity when there is none. */
  coveredToMs: number;
}

/** Whether windows leave calls to people's orders. */
export type Urgency = "normal" | "urgent";

/** Enriches waiting messages, many at a time, with at most one call. */
export async function windowStep(
  context: Context,
  state: WindowState,
  api: ProviderApi,
  urgency: Urgency,
): Promise<Step> {
  if (state.batch !== undefined && state.batch.api !== api) await giveBack(context, state);
  const { batch } = state;
  try {
    if (batch === undefined) return await begin(context, state, api, urgency);
    return await goOn(context, state, batch, urgency);
  } catch (error) {
    // What was asked may not have been written: the messages come back with their lease and are asked about again.
    state.batch = undefined;
    throw error;
  }
}

/** Gives the claimed messages back, due at once or after that long, without counting a try. */
export async function giveBack(context: Context, state: WindowState, delaySeconds = 0): Promise<void> {
  const { batch } = state;
  state.batch = undefined;
  if (batch === undefined || batch.targets.size === 0) return;
  const claimed = { messages: [...batch.targets.keys()], lease: batch.lease };
  await inTransaction(context, (tx) => release(tx, claimed, delaySeconds, context.now()));
}

/** Plans a batch and makes its first call. */
async function begin(context: Context, state: WindowState, api: ProviderApi, urgency: Urgency): Promise<Step> {
  const planned = await inTransaction(context, (tx) => plan(context, tx, { api, urgency, state }));
  if ("done" in planned) return planned;
  state.batch = planned;
  await call(context, state, planned);
  return DONE;
}

/** One plan at a time, whoever makes it: two instances that plan at once would ask about the same messages. */
async function plan(
  context: Context,
  tx: Connection,
  options: { api: ProviderApi; urgency: Urgency; state: WindowState },
): Promise<Batch | Step> {
  const { api, urgency, state } = options;
  const now = context.now();
  const turn = await nextTurn(tx, context.gatherSeconds, now);
  // Whoever plans elsewhere has what is due.
  if (turn === undefined || !(await tryLockTransaction(tx, "enrichment"))) return NOTHING_TO_DO;
  if (!context.enrichSimulated && (await dropSimulated(tx, turn, now)) > 0) return DONE;
  const seconds = await countSeconds(tx, { api, turn }, now);
  const chosen = chooseSeconds(seconds, api, ENRICH_WINDOW_MESSAGES_MAX);
  if (chosen === undefined) return NOTHING_TO_DO;
  const refusal = await refusedCall(context, tx, { api, urgency });
  if (refusal !== undefined) return refusal;
  const lease = await newLease(tx, now);
  const targets = await claim(tx, { api, turn, chosen, lease }, now);
  const coveredToMs = api === "logs" && turn === "first" ? state.coveredToMs : -Infinity;
  // Rows that another transaction holds at this moment are passed over: there will be another tick.
  return planBatch({ api, turn, chosen, targets, lease, coveredToMs }) ?? NOTHING_TO_DO;
}

/** Makes the next call of a batch under way. */
async function goOn(context: Context, state: WindowState, batch: Batch, urgency: Urgency): Promise<Step> {
  await extendLease(context, batch);
  if (batch.scout !== undefined && !batch.targets.has(batch.scout.message)) batch.scout = undefined;
  if (batch.scout === undefined) {
    const ask = nextAsk(batch);
    if (ask === undefined) return finish(context, state, batch);
    batch.asks.push(ask);
  }
  const refusal = await refusedCall(context, context.pool, { api: batch.api, urgency });
  if (refusal !== undefined) return refusal;
  await call(context, state, batch);
  return DONE;
}

async function extendLease(context: Context, batch: Batch): Promise<void> {
  const { pool } = context;
  const messages = [...batch.targets.keys()];
  const until = await newLease(pool, context.now());
  const ours = await inTransaction(context, (tx) => extend(tx, messages, batch.lease, until));
  batch.lease = until;
  for (const message of messages) if (!ours.has(message)) batch.targets.delete(message);
}

async function refusedCall(
  context: Context,
  db: Queryable,
  { api, urgency }: { api: ProviderApi; urgency: Urgency },
): Promise<Step | undefined> {
  const reserve = urgency === "urgent" ? 0 : ENRICH_CALLS_RESERVED;
  const permit = await takeCall(db, api, context.callsPerMinute, { now: context.now(), reserve });
  return permit.granted ? undefined : { done: false, waitSeconds: permit.waitSeconds };
}

async function call(context: Context, state: WindowState, batch: Batch): Promise<void> {
  const asked = await askNext(context, batch);
  if (asked === "forbidden") await giveBack(context, state);
  else if (asked === "stuck") await giveBack(context, state, API_OUTAGE_SECONDS_MAX);
  else if (isAsked(batch)) await finish(context, state, batch);
}

/** All is asked: what was not found is tried again later, or never. */
async function finish(context: Context, state: WindowState, batch: Batch): Promise<Step> {
  const { log } = context;
  const { api, turn, targets, crowded, lease, failure } = batch;
  state.batch = undefined;
  if (api === "logs" && turn === "first") {
    const isWhole = batch.capped && crowded.size === 0 && failure === undefined;
    state.coveredToMs = isWhole ? batch.toMs : -Infinity;
  }
  if (targets.size === 0) return DONE;
  const place = api === "logs" ? "Email Logs" : "the Messages API";
  const left = [...targets.keys()];
  const elsewhere = {
    messages: left.filter((message) => !crowded.has(message)),
    error: failure ?? `not found in ${place}`,
    final: false,
  };
  const amongTooMany = {
    messages: left.filter((message) => crowded.has(message)),
    error: failure ?? `${place} cannot list so many messages of one moment: ask for this one by itself`,
    final: true,
  };
  const now = context.now();
  const failed = await inTransaction(context, async (tx) => {
    const first = await writeMissing(tx, { ...elsewhere, lease }, now);
    return first + (await writeMissing(tx, { ...amongTooMany, lease }, now));
  });
  log[failed > 0 ? "warn" : "debug"]({ api, missing: left.length, failed }, "messages not found at SendGrid");
  return DONE;
}
