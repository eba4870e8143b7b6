import { ENRICH_ASKS_MAX, ENRICH_WINDOW_MESSAGES_MAX } from "../limits.ts";
import type { ApiList, ApiMessage, ProviderApi } from "../sendgrid/api-types.ts";
import type { Turn } from "./queue.ts";
import { concerns, hull, narrowAsk, splitAsk, TIMING, type Ask, type ChosenSeconds, type Target } from "./windows.ts";

/**
 * The messages of one plan and what is still to be asked to find them. It lives in memory only: the messages are claimed
 * by a lease, so that when the process dies they are simply planned again.
 */
export interface Batch {
  api: ProviderApi;
  turn: Turn;
  /** Not found yet, by messages.id. */
  targets: Map<number, Target>;
  /** The last is asked first. */
  asks: Ask[];
  /** To be asked for by its id first: it tells at what time the others should be looked for. */
  scout: Target | undefined;
  lease: Date;
  asked: number;
  /** The finest difference of listed times seen in answers. */
  resolutionMs: number;
  /** Those that stand in a moment with more messages than any question can list. */
  crowded: Set<number>;
  /** Whether the API takes narrowed questions, as far as is known. */
  narrows: boolean;
  /** Asks without a usable answer since the last one with. */
  failedInARow: number;
  /** Why a part of the plan could not be asked. */
  failure: string | undefined;
  /** Where the asked time begins and ends. */
  fromMs: number;
  toMs: number;
  /** More messages were waiting than the plan took. */
  capped: boolean;
}

const SECOND_MS = 1000;
/** Mail that was made together is listed close together. */
const SCOUTED_MS = 60 * SECOND_MS;

/**
 * Plans how to find these targets. `coveredToMs` is up to where the API has just been asked: for messages whose time of
 * listing is only known roughly, asking about the time before it again would only repeat that answer.
 */
export function planBatch(plan: {
  api: ProviderApi;
  turn: Turn;
  chosen: ChosenSeconds;
  targets: readonly Target[];
  lease: Date;
  coveredToMs: number;
}): Batch | undefined {
  const { api, turn, chosen, targets, lease, coveredToMs } = plan;
  const range = hull(targets, TIMING[api]);
  if (range === undefined) return undefined;
  const fromMs = chosen.fromSecond * SECOND_MS >= coveredToMs ? Math.max(range.fromMs, coveredToMs) : range.fromMs;
  const { toMs } = range;
  const ask = { fromMs, toMs };
  // More than a window in one second is known beforehand, and one API can be asked for a part of a second at once.
  const isDense = targets.length > ENRICH_WINDOW_MESSAGES_MAX && api === "messages";
  const asks = isDense ? narrowAsk(ask, api, targets) : [ask];
  return {
    api,
    turn,
    targets: new Map(targets.map((target) => [target.message, target])),
    asks: asks.reverse(),
    scout: turn === "last" ? targets[0] : undefined,
    lease,
    asked: 0,
    resolutionMs: SECOND_MS,
    crowded: new Set(),
    narrows: true,
    failedInARow: 0,
    failure: undefined,
    fromMs,
    toMs,
    capped: chosen.capped,
  };
}

/** The targets that an ask's answer can hold. */
function concerned(batch: Batch, ask: Ask): Target[] {
  return [...batch.targets.values()].filter((target) => concerns(ask, target, TIMING[batch.api]));
}

/** Whether nothing of the plan is left to be asked. */
export function isAsked(batch: Batch): boolean {
  return batch.scout === undefined && batch.asks.length === 0;
}

/** Takes an answered ask into account, after what it held was written and its messages taken off the targets. */
export function applyAnswer(batch: Batch, ask: Ask, list: ApiList): void {
  batch.asked += 1;
  batch.failedInARow = 0;
  const listedMs = list.messages.flatMap(({ listedAt }) => listedAt?.getTime() ?? []);
  if (listedMs.some((ms) => ms % SECOND_MS !== 0)) batch.resolutionMs = 1;
  if (list.full) pushParts(batch, ask, listedMs);
}

/** Takes a refused ask into account: the API does not understand narrowed questions, so it is asked whole ones only. */
export function applyRefusal(batch: Batch, ask: Ask): void {
  batch.asked += 1;
  batch.narrows = false;
  const { fromMs, toMs, anyTarget } = ask;
  batch.asks = batch.asks.filter(({ only }) => only === undefined);
  batch.asks.push({ fromMs, toMs, ...(anyTarget === undefined ? {} : { anyTarget }) });
}

/**
 * Takes an ask into account that had no usable answer, `failures` calls in a row now.
 *
 * The first in a row may be the question's own fault: it is halved, until what the API cannot answer stands alone and
 * counts as a try of these messages only. With more in a row it may be the API: then nothing counts, the other questions
 * are tried first, and when none of them has an answer the batch is stuck.
 */
export function applyFailure(
  batch: Batch,
  ask: Ask,
  { reason, failures }: { reason: string; failures: number },
): "asked" | "stuck" {
  batch.asked += 1;
  if (failures > 1) {
    batch.failedInARow += 1;
    batch.asks.unshift(ask);
    return batch.failedInARow >= batch.asks.length ? "stuck" : "asked";
  }
  batch.failedInARow = 0;
  if (ask.toMs - ask.fromMs > SECOND_MS) pushParts(batch, ask, []);
  else batch.failure = reason;
  return "asked";
}

/** Takes the answer about the scout into account: where the others should be looked for. */
export function applyScout(batch: Batch, scout: Target, found: ApiMessage | undefined): void {
  batch.scout = undefined;
  const listedMs = found?.listedAt?.getTime();
  if (listedMs === undefined || (listedMs >= batch.fromMs && listedMs < batch.toMs)) {
    // Alone, it has just been asked for in the surest way.
    if (batch.targets.size === 0 || (batch.targets.size === 1 && batch.targets.has(scout.message))) batch.asks = [];
    return;
  }
  const middleMs = Math.floor(listedMs / SECOND_MS) * SECOND_MS;
  batch.asks = [{ fromMs: middleMs - SCOUTED_MS, toMs: middleMs + SCOUTED_MS, anyTarget: true }];
}

/** The next ask that can still find something, taken off the plan. */
export function nextAsk(batch: Batch): Ask | undefined {
  if (batch.asked >= ENRICH_ASKS_MAX) batch.asks = [];
  let ask = batch.asks.pop();
  while (ask !== undefined && concerned(batch, ask).length === 0) ask = batch.asks.pop();
  return ask;
}

function pushParts(batch: Batch, ask: Ask, listedMs: readonly number[]): void {
  const parts = splitAsk(ask, [...batch.targets.values()], batch.api, {
    resolutionMs: batch.resolutionMs,
    listedMs,
  });
  // Moments that cannot be narrowed are asked no further.
  const possible = parts.filter(({ only }) => only === undefined || batch.narrows);
  batch.asks.push(...possible.reverse());
  if (parts.length > 0 && possible.length === parts.length) return;
  for (const target of concerned(batch, ask)) batch.crowded.add(target.message);
}
