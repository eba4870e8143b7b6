import { DAY_MS } from "../days.ts";
import { RECONCILE_EARLIER_DAYS, RECONCILE_GROUP_CALLS_MAX } from "../limits.ts";
import type { ProviderApi } from "../sendgrid/api-types.ts";
import type { TimeRange } from "../sendgrid/query.ts";
import { compareList } from "./compare-list.ts";
import { askableApis, isExplained, isWanted, spendCall, type Context, type DayWork } from "./context.ts";
import { cover, uncovered } from "./coverage.ts";
import type { Kind } from "./kinds.ts";
import { planWindows, sampleWindows, splitWindow, windowQuery, type Window } from "./lists.ts";
import { askMessage } from "./messages.ts";

/** Lists of messages over a time, which show whether anything of some kinds is missing. */
interface Stage extends TimeRange {
  api: ProviderApi;
  /** What such a list shows of each message, or that the ledger does not know the message. */
  reveals: readonly Kind[];
  /** Only messages with one of these events: the Messages API's names and the webhook's. */
  events?: { theirs: readonly string[]; ours: readonly string[] };
  /** Asked for whether or not anything is known to be missing. */
  always?: true;
  callsMax?: number;
}

/** The rest of a day's calls is for the messages that the lists point at. */
const LISTS_SHARE = 0.8;
/** A message's id is made a moment before its first event, which may be in the next day. */
const EARLY_MS = 10_000;

const DELIVERY: readonly Kind[] = ["processed", "delivered", "bounce", "blocked", "dropped"];
const REVEALS: Readonly<Record<ProviderApi, readonly Kind[]>> = {
  logs: DELIVERY,
  messages: [...DELIVERY, "open", "click"],
};

/** Kinds that no list of all messages shows, and that few messages have: the Messages API lists just these. */
const RARE: readonly { kind: Kind; theirs: string; ours: string }[] = [
  { kind: "deferred", theirs: "deferred", ours: "deferred" },
  { kind: "spamreport", theirs: "spam_report", ours: "spamreport" },
  { kind: "unsubscribe", theirs: "unsubscribe", ours: "unsubscribe" },
];
/** Kinds without a total: one list of the Messages API tells of them, alike in both vocabularies. */
const GROUPS = ["group_unsubscribe", "group_resubscribe"] as const;

/**
 * Looks for events of the kinds that SendGrid has no total of: one call for days, where the Messages API may be asked.
 * A message with one of its two kinds in the ledger is not asked for.
 */
export async function checkGroups(context: Context, work: DayWork): Promise<void> {
  if (work.wanted === undefined || !askableApis(context, work).includes("messages")) return;
  const events = { theirs: GROUPS, ours: GROUPS };
  const { fromMs } = work;
  const stage: Stage = {
    api: "messages",
    reveals: GROUPS,
    events,
    always: true,
    callsMax: RECONCILE_GROUP_CALLS_MAX,
    fromMs,
    toMs: laterEnd(work),
  };
  if (stage.fromMs < stage.toMs) work.groups = await runStage(context, work, stage);
}

/**
 * Looks through SendGrid's lists for messages that the ledger does not know or that say more than the ledger, and asks for
 * those: first the day's own, then those that may have an event in it; only while anything is left to look for.
 */
export async function checkLists(context: Context, work: DayWork): Promise<void> {
  const stages = planStages(context, work);
  for (const stage of stages) {
    if (isExplained(work) || !stage.reveals.some((kind) => isWanted(work, kind))) continue;
    const isWhole = await runStage(context, work, stage);
    if (!isWhole || work.lists === "none") work.lists = isWhole ? "all" : "some";
    // What a list of all messages has shown is not to be guessed at.
    if (isWhole && work.wanted !== undefined && stage.toMs > work.toMs) {
      for (const kind of stage.reveals) if (kind !== "processed") work.proven.add(kind);
    }
  }
}

function planStages(context: Context, work: DayWork): Stage[] {
  const apis = askableApis(context, work);
  // Only Messages tells how often a mail was opened; Email Logs tell the status more exactly, by a time that stays.
  const engages = isWanted(work, "open") || isWanted(work, "click");
  const ordered = apis.toSorted((a) => ((a === "messages") === engages ? -1 : 1));
  const [first, ...others] = ordered.map((api) => stagesOf(api, work));
  const rare = apis.includes("messages") ? rareStages(work) : [];
  return [...(first?.slice(0, 1) ?? []), ...rare, ...(first?.slice(1) ?? []), ...others.flat()];
}

/** The day's own messages, then those whose events may fall into the day too. */
function stagesOf(api: ProviderApi, work: DayWork): Stage[] {
  const { fromMs, toMs, settledMs } = work;
  const reveals = REVEALS[api];
  const own = { api, reveals, fromMs: api === "logs" ? fromMs - EARLY_MS : fromMs, toMs: Math.min(toMs, settledMs) };
  const further =
    api === "logs"
      ? { api, reveals, fromMs: fromMs - RECONCILE_EARLIER_DAYS * DAY_MS, toMs: fromMs - EARLY_MS }
      : { api, reveals, fromMs: toMs, toMs: laterEnd(work) };
  return [own, further].filter((stage) => stage.fromMs < stage.toMs);
}

/** The Messages API lists by the last event, which may be days after the day. */
function laterEnd({ toMs, settledMs }: DayWork): number {
  return Math.min(settledMs, toMs + RECONCILE_EARLIER_DAYS * DAY_MS);
}

function rareStages(work: DayWork): Stage[] {
  if (work.wanted === undefined) return [];
  const { fromMs } = work;
  return RARE.map(({ kind, theirs, ours }) => ({
    api: "messages",
    reveals: [kind],
    events: { theirs: [theirs], ours: [ours] },
    fromMs,
    toMs: laterEnd(work),
  }));
}

function isDone(work: DayWork, stage: Stage): boolean {
  return stage.always !== true && isExplained(work);
}

/** Asks for all windows of a stage that this run has not asked for. Whether all could be asked. */
async function runStage(context: Context, work: DayWork, stage: Stage): Promise<boolean> {
  const { pool } = context;
  const { api, events } = stage;
  const key = `${work.account.name} ${api} ${(events?.ours ?? []).join("+")}`;
  const parts = uncovered(work.coverage, key, stage);
  const planned: Window[] = [];
  for (const part of parts) {
    // Few messages have such an event, so one list may do for all.
    if (events === undefined) planned.push(...(await planWindows(pool, api, part, work.account.sources)));
    else planned.push({ ...part, events: events.theirs });
  }
  const callsMax = stage.callsMax ?? Math.ceil(work.callsLeft.day * LISTS_SHARE);
  const windows = sampleWindows(planned, callsMax, context.run).reverse();
  work.checked.listsPlanned += planned.length;
  let isWhole = windows.length === planned.length;
  if (!isWhole) work.isCut = true;
  for (let asked = 0; windows.length > 0; asked += 1) {
    if (isDone(work, stage)) {
      // Not asked because there is nothing left to look for.
      work.checked.listsPlanned -= windows.length;
      return false;
    }
    const window = windows.pop();
    if (window === undefined || (stage.callsMax !== undefined && asked >= stage.callsMax)) return false;
    work.listsLeft = windows.length;
    const answer = await askWindow(context, work, { stage, window });
    if (answer === "stopped") return false;
    if (answer === "cut") isWhole = false;
    else if (answer.length > 0) windows.push(...answer.toReversed());
    else if (window.status === undefined) cover(work.coverage, key, window);
    await context.report(work, "lists");
  }
  return isWhole;
}

/** Asks for one window, and for the messages that disagree. Gives its parts when its list was full. */
async function askWindow(
  context: Context,
  work: DayWork,
  { stage, window }: { stage: Stage; window: Window },
): Promise<Window[] | "cut" | "stopped"> {
  const { api, events } = stage;
  if (!spendCall(work)) return "stopped";
  const told = await context.records.list(work.account.name, api, windowQuery(api, window));
  if (told.kind === "refused") return "stopped";
  if (told.kind !== "ok") {
    work.isCut = true;
    return "cut";
  }
  work.checked.lists += 1;
  const { messages, full } = told.value;
  const { account } = work;
  const disagreeing = await compareList(context.pool, { api, account, events: events?.ours }, messages);
  for (const messageId of disagreeing.unlikely) work.unlikely.add(messageId);
  for (const [index, messageId] of disagreeing.messages.entries()) {
    if (isDone(work, stage)) break;
    work.messagesLeft = disagreeing.messages.length - index;
    await context.report(work, "messages");
    if (!(await askMessage(context, work, messageId))) return "stopped";
  }
  if (!full) return [];
  const listedMs = messages.flatMap(({ listedAt }) => listedAt?.getTime() ?? []);
  const split = splitWindow(api, window, listedMs);
  if (split.length > 0) return split;
  work.isCut = true;
  return "cut";
}
