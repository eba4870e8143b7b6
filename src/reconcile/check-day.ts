import { DAY_MS } from "../days.ts";
import { RECONCILE_FINAL_SECONDS, RECONCILE_SETTLE_SECONDS } from "../limits.ts";
import type { CountedAccount } from "./accounts.ts";
import { checkGroups, checkLists } from "./check-lists.ts";
import { askableApis, isExplained, isWanted, type CallLimits, type Context, type DayWork } from "./context.ts";
import type { Coverage } from "./coverage.ts";
import { dayBounds, type Bounds } from "./days.ts";
import { countNamed, countSuspected, lookAgain, type GapRange } from "./gaps.ts";
import { guess } from "./guesses.ts";
import { readHeld, type Held } from "./held.ts";
import type { Kind } from "./kinds.ts";
import { askMessage } from "./messages.ts";
import { lookAtDay } from "./register.ts";
import { orderRepairs, readRepairs } from "./repair-orders.ts";
import { resultOf, type DayResult } from "./report.ts";
import { readResult, saveResult, totalsOfResult } from "./results.ts";
import { closeOutdated, recordSuspects, RULES, suspects } from "./rules.ts";
import { checkSuppressions, recordEntries } from "./suppressions.ts";
import { wantedKinds, type Totals } from "./totals.ts";

export interface DayRequest {
  account: CountedAccount;
  day: string;
  /** SendGrid's totals of the day; undefined where it told none. */
  totals: Totals | undefined;
  /** Shared by the days of a run. */
  asked: Set<string>;
  coverage: Coverage;
  callsLeft: CallLimits;
  /** Orders of gaps are carried out when it resolves; undefined: nothing is repaired. */
  settleRepairs: (() => Promise<void>) | undefined;
}

const SECOND_MS = 1000;
const HOUR_MS = 3_600_000;

/**
 * Checks one day of one account, from what costs nothing to what costs calls, each only as far as something is left to
 * look for: totals, the life-cycle of mails, suppression lists, lists of messages, single messages.
 */
export async function checkDay(context: Context, request: DayRequest): Promise<DayResult> {
  const { pool, timeZone, run } = context;
  const { account, day, totals } = request;
  const bounds = await dayBounds(pool, day, timeZone);
  const gapRange = { account: account.name, fromDay: day, toDay: day };
  await readRepairs(pool, account.name);
  await lookAgain(pool, gapRange);
  const work = await begin(context, request, bounds);
  await context.report(work, "totals");
  await checkGroups(context, work);
  if (!isExplained(work)) await search(context, work);
  await recordSuspicions(context, work);
  if (request.settleRepairs !== undefined) {
    await context.report(work, "repairs");
    await repairRange(context, request.settleRepairs, gapRange);
  }
  const result = await conclude(context, work, totals);
  await saveResult(pool, result, { run, timeZone, now: context.now(), simulated: account.simulated });
  return result;
}

/** Has the open gaps of a range repaired whose events SendGrid's records have told. */
export async function repairRange(
  { pool, run }: Context,
  settleRepairs: () => Promise<void>,
  range: GapRange,
): Promise<void> {
  if ((await orderRepairs(pool, { ...range, run })) > 0) await settleRepairs();
  await readRepairs(pool, range.account);
  await lookAgain(pool, range);
}

/** The result of a day whose gaps were found without asking SendGrid: beside its totals where an earlier check had them. */
export async function checkedWithoutCalls(context: Context, account: CountedAccount, day: string): Promise<DayResult> {
  const { pool, timeZone, run } = context;
  await lookAgain(pool, { account: account.name, fromDay: day, toDay: day });
  const before = await readResult(pool, day, account.name);
  const totals = before === undefined ? undefined : totalsOfResult(before);
  const request = { account, day, totals, asked: new Set<string>(), coverage: new Map(), callsLeft: NO_CALLS };
  const work = await begin(context, { ...request, settleRepairs: undefined }, await dayBounds(pool, day, timeZone));
  const result = { ...(await conclude(context, work, totals)), final: before?.final ?? false };
  await saveResult(pool, result, { run, timeZone, now: context.now(), simulated: account.simulated });
  return result;
}

const NO_CALLS: CallLimits = { day: 0, guesses: 0 };

/** Counts a day again from the ledger and the gaps alone, where a run has found gaps of days that it was not asked for. */
export async function refreshDay(context: Context, account: CountedAccount, day: string): Promise<void> {
  if ((await readResult(context.pool, day, account.name)) !== undefined)
    await checkedWithoutCalls(context, account, day);
}

async function begin(context: Context, request: DayRequest, bounds: Bounds): Promise<DayWork> {
  const { pool } = context;
  const { account, day } = request;
  const held = await readHeld(pool, account.sources, bounds);
  const before = await readResult(pool, day, account.name);
  const { wanted, counted } = await startLooking(context, request, { held, before });
  return {
    account,
    day,
    ...bounds,
    settledMs: context.now().getTime() - RECONCILE_SETTLE_SECONDS * SECOND_MS,
    mainSource: await readMainSource(context, account, bounds),
    wanted,
    counted,
    asked: request.asked,
    tried: new Set(),
    coverage: request.coverage,
    callsLeft: { ...request.callsLeft },
    listsLeft: 0,
    messagesLeft: 0,
    proven: new Set(),
    checked: { lists: 0, listsPlanned: 0, messages: 0, suppressions: false },
    isCut: false,
    lists: "none",
    groups: false,
    unlikely: new Set(),
    entries: [],
  };
}

/**
 * What to look for: what SendGrid's totals say is missing, without the gaps that are known by name. Twins that were found
 * to be counted by SendGrid explain it only as long as they explain all; else they are counted anew.
 */
async function startLooking(
  { pool }: Context,
  { account, day, totals }: DayRequest,
  { held, before }: { held: Map<Kind, Held>; before: DayResult | undefined },
): Promise<Pick<DayWork, "wanted" | "counted">> {
  if (totals === undefined) return { wanted: undefined, counted: new Map() };
  const named = await countNamed(pool, account.name, day);
  const counted = new Map((before?.kinds ?? []).map(({ kind, counted: twins }) => [kind, twins]));
  const missing = (twins: ReadonlyMap<Kind, number>): Map<Kind, number> => {
    const wanted = wantedKinds(totals, withCounted(held, twins));
    for (const [kind, count] of wanted) wanted.set(kind, Math.max(count - (named.get(kind)?.open ?? 0), 0));
    return wanted;
  };
  const explained = missing(counted);
  const kept = new Map([...counted].filter(([kind]) => (explained.get(kind) ?? 0) === 0));
  return { wanted: missing(kept), counted: kept };
}

function withCounted(held: ReadonlyMap<Kind, Held>, counted: ReadonlyMap<Kind, number>): Map<Kind, Held> {
  return new Map([...held].map(([kind, own]) => [kind, { ...own, counted: counted.get(kind) ?? 0 }]));
}

/** The source with most of the day's messages, where a message that the ledger does not know is most likely from. */
async function readMainSource({ pool }: Context, { sources }: CountedAccount, bounds: Bounds): Promise<number> {
  const found = await pool.query<{ source: number }>(
    `SELECT source FROM messages WHERE first_event_at >= $1 AND first_event_at < $2 AND source = ANY ($3)
     GROUP BY source ORDER BY count(*) DESC, source LIMIT 1`,
    [new Date(bounds.fromMs), new Date(bounds.toMs), sources],
  );
  const source = found.rows[0]?.source ?? sources[0];
  if (source === undefined) throw new Error("an account without sources was to be checked");
  return source;
}

async function search(context: Context, work: DayWork): Promise<void> {
  await askSuspects(context, work);
  await checkSuppressions(context, work);
  await checkLists(context, work);
  await guess(context, work);
}

/** Asks for the messages of which an event must be missing, whatever kind the rule says, as long as it is looked for. */
async function askSuspects(context: Context, work: DayWork): Promise<void> {
  if (askableApis(context, work).length === 0) return;
  const bounds = { fromMs: work.fromMs - DAY_MS, toMs: work.toMs + HOUR_MS };
  for (const rule of RULES) {
    if (!rule.isCertain || !rule.kinds.some((kind) => isWanted(work, kind))) continue;
    const { sources } = work.account;
    for await (const page of suspects(context.pool, rule, { bounds, sources, before: new Date(work.settledMs) })) {
      for (const [index, { messageId }] of page.entries()) {
        if (!rule.kinds.some((kind) => isWanted(work, kind))) break;
        work.messagesLeft = page.length - index;
        await context.report(work, "suspects");
        if (!(await askMessage(context, work, messageId))) return;
      }
    }
  }
}

/** Writes down what rules still suspect of this day's messages, and closes what they no longer do. */
async function recordSuspicions(context: Context, work: DayWork): Promise<void> {
  const { pool, run, timeZone, signal } = context;
  const { account, day } = work;
  const nowMs = context.now().getTime();
  for (const rule of RULES) {
    // Totals that are equal say that it was nothing.
    if (!rule.kinds.some((kind) => isWanted(work, kind))) continue;
    const before = new Date(nowMs - rule.waitSeconds * SECOND_MS);
    for await (const page of suspects(pool, rule, { bounds: work, sources: account.sources, before })) {
      const unasked = page.filter(({ messageId }) => !work.asked.has(messageId));
      await recordSuspects(pool, { rule, account: account.name, day, run }, unasked);
    }
  }
  work.entries = work.entries.filter(({ kind }) => isWanted(work, kind));
  await recordEntries(context, work);
  await closeOutdated(pool, { account: account.name, day, run });
  await lookAtDay(pool, { account, timeZone, signal, now: context.now() }, work);
}

async function conclude(context: Context, work: DayWork, totals: Totals | undefined): Promise<DayResult> {
  const { pool } = context;
  const { account, day } = work;
  const held = withCounted(await readHeld(pool, account.sources, work), work.counted);
  return resultOf({
    checked: work.checked,
    day,
    account: account.name,
    totals,
    held,
    named: await countNamed(pool, account.name, day),
    suspected: await countSuspected(pool, account.name, day),
    isOver: work.toMs <= work.settledMs,
    final: context.now().getTime() >= work.toMs + RECONCILE_FINAL_SECONDS * SECOND_MS,
    lists: work.isCut && work.lists === "all" ? "some" : work.lists,
    groups: work.groups,
  });
}
