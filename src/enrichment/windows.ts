import type { ProviderApi } from "../sendgrid/api-types.ts";
import type { Narrowing, TimeRange } from "../sendgrid/query.ts";
import { matchesNarrowing, narrow } from "./narrow.ts";

/** A message that is asked about. */
export interface Target {
  /** messages.id */
  message: number;
  messageId: string;
  /** The time by which the API should list it, milliseconds since 1970. */
  atMs: number;
  categories: readonly string[];
}

/** One list call: a time range, and a further condition where a range alone holds too much. */
export interface Ask extends TimeRange {
  only?: Narrowing;
  /** The listed times of the targets are not known: any of them may be in this range. */
  anyTarget?: true;
}

/** How far the time at which an API lists a message may lie from the time the ledger knows. */
export interface Timing {
  beforeMs: number;
  afterMs: number;
}

const SECOND_MS = 1000;

/**
 * An id is made when the API takes a mail, a moment before its first event; how long, nobody says, and a scheduled mail
 * waits for hours. Five seconds cover the usual; what lies further away is found by its id (`scout`).
 * The Messages API goes by the last event, whose time the ledger has from SendGrid itself.
 */
export const TIMING: Readonly<Record<ProviderApi, Timing>> = {
  logs: { beforeMs: 5 * SECOND_MS, afterMs: 0 },
  messages: { beforeMs: 0, afterMs: 0 },
};

/** Messages known to wait in one second. */
export interface SecondCount {
  second: number;
  count: number;
}

/** The seconds [fromSecond, toSecond) whose messages make up one plan. */
export interface ChosenSeconds {
  fromSecond: number;
  toSecond: number;
  count: number;
  /** More are waiting after these. */
  capped: boolean;
}

/**
 * Chooses from waiting messages, counted by second and in order, the longest run from the oldest on that one list call
 * can answer; but one second at least, however many it holds. In the Email Logs API a message stands a moment before its
 * first event, so the call also answers some of the second after: that second is counted in.
 */
export function chooseSeconds(
  seconds: readonly SecondCount[],
  api: ProviderApi,
  messagesMax: number,
): ChosenSeconds | undefined {
  const [first] = seconds;
  if (first === undefined) return undefined;
  const lateSeconds = api === "logs" ? 1 : 0;
  const total = seconds.reduce((sum, { count }) => sum + count, 0);
  if (total <= messagesMax) {
    return { fromSecond: first.second, toSecond: (seconds.at(-1) ?? first).second + 1, count: total, capped: false };
  }
  let count = first.count;
  let toSecond = first.second + 1;
  for (const [index, { second, count: own }] of seconds.entries()) {
    if (index === 0) continue;
    const next = seconds[index + 1];
    const late = next !== undefined && next.second <= second + lateSeconds ? next.count : 0;
    if (count + own + late > messagesMax) break;
    count += own;
    toSecond = second + 1;
  }
  return { fromSecond: first.second, toSecond, count, capped: true };
}

/** The shortest range that holds every time at which these targets may be listed. */
export function hull(targets: readonly Target[], timing: Timing): TimeRange | undefined {
  if (targets.length === 0) return undefined;
  let fromMs = Infinity;
  let toMs = -Infinity;
  for (const { atMs } of targets) {
    fromMs = Math.min(fromMs, atMs - timing.beforeMs);
    toMs = Math.max(toMs, atMs + timing.afterMs);
  }
  return { fromMs: floorTo(fromMs, SECOND_MS), toMs: floorTo(toMs, SECOND_MS) + SECOND_MS };
}

/** Whether an ask's answer can hold this target. */
export function concerns(ask: Ask, target: Target, timing: Timing): boolean {
  // The ledger knows whole seconds, the API may know finer times: a target may be anywhere in its second.
  const atSecondMs = floorTo(target.atMs, SECOND_MS);
  const isInTime = atSecondMs - timing.beforeMs < ask.toMs && atSecondMs + SECOND_MS + timing.afterMs > ask.fromMs;
  return (ask.anyTarget === true || isInTime) && (ask.only === undefined || matchesNarrowing(ask.only, target));
}

/** What an API has shown of its times. */
export interface Shown {
  /** The finest difference of listed times: a range is not split below it. */
  resolutionMs: number;
  /** The listed times of the full answer, in any order; none when there was no answer. */
  listedMs: readonly number[];
}

/**
 * What to ask after an answer that was full: the parts of the ask that can hold the targets still wanted.
 *
 * Invariant: every target that the ask concerned is concerned by a part, except those that no narrower question can
 * reach; each part is strictly narrower than the ask, so splitting ends. Test: windows.test.ts.
 *
 * @returns nothing when no narrower question exists.
 */
export function splitAsk(ask: Ask, wanted: readonly Target[], api: ProviderApi, shown: Shown): Ask[] {
  const { resolutionMs } = shown;
  const timing = TIMING[api];
  const targets = wanted.filter((target) => concerns(ask, target, timing));
  const clipped = clip(ask, targets, timing);
  const lengthMs = ask.toMs - ask.fromMs;
  // SendGrid seems to answer in order of time, and then those left over are close together.
  if (clipped.toMs - clipped.fromMs <= lengthMs / 2) return [clipped];
  if (lengthMs <= resolutionMs) return narrowAsk(ask, api, targets);
  const momentMs = onlyMoment(ask, shown);
  if (momentMs === undefined) {
    const middleMs = middleOf(ask, shown);
    return wantedParts(
      [
        { ...ask, toMs: middleMs },
        { ...ask, fromMs: middleMs },
      ],
      targets,
      timing,
    );
  }
  // This one moment has just filled an answer: asking for it alone would bring the same.
  const moment = { ...ask, fromMs: momentMs, toMs: momentMs + resolutionMs };
  const atMoment = targets.filter((target) => concerns(moment, target, timing));
  const around = [
    { ...ask, toMs: momentMs },
    { ...ask, fromMs: moment.toMs },
  ].filter(({ fromMs, toMs }) => fromMs < toMs);
  return [...narrowAsk(moment, api, atMoment), ...wantedParts(around, targets, timing)];
}

/** The parts that can hold a target, without the time at their ends that cannot. */
function wantedParts(parts: readonly Ask[], targets: readonly Target[], timing: Timing): Ask[] {
  return parts.flatMap((part) => {
    const concerned = targets.filter((target) => concerns(part, target, timing));
    return concerned.length === 0 ? [] : [clip(part, concerned, timing)];
  });
}

/** The moment in which all rows of the answer are listed, if it is one. */
function onlyMoment(ask: Ask, { listedMs, resolutionMs }: Shown): number | undefined {
  const [first] = listedMs;
  if (first === undefined) return undefined;
  const momentMs = floorTo(first, resolutionMs);
  const isInside = momentMs >= ask.fromMs && momentMs + resolutionMs <= ask.toMs;
  return isInside && listedMs.every((ms) => floorTo(ms, resolutionMs) === momentMs) ? momentMs : undefined;
}

/** Where to split: at the middle of the mail that the answer showed, else of the time; never at an end. */
function middleOf(ask: Ask, { listedMs, resolutionMs }: Shown): number {
  const sorted = [...listedMs].sort((a, b) => a - b);
  const medianMs = sorted[Math.floor(sorted.length / 2)] ?? (ask.fromMs + ask.toMs) / 2;
  const firstMs = floorTo(ask.fromMs, resolutionMs) + resolutionMs;
  return Math.max(Math.min(floorTo(medianMs, resolutionMs), floorTo(ask.toMs - 1, resolutionMs)), firstMs);
}

/** The same range in parts, by a further condition. */
export function narrowAsk(ask: Ask, api: ProviderApi, targets: readonly Target[]): Ask[] {
  const parts: Ask[] = [];
  for (const only of narrow(api, ask.only, targets)) parts.push({ ...ask, only });
  return parts;
}

/** The part of an ask that can hold these targets. */
function clip(ask: Ask, targets: readonly Target[], timing: Timing): Ask {
  const range = hull(targets, timing);
  if (range === undefined || ask.anyTarget === true) return ask;
  return { ...ask, fromMs: Math.max(ask.fromMs, range.fromMs), toMs: Math.min(ask.toMs, range.toMs) };
}

function floorTo(ms: number, unitMs: number): number {
  return Math.floor(ms / unitMs) * unitMs;
}
