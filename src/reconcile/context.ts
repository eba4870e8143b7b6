import type { Log } from "../log.ts";
import type { Pool } from "../postgres/pool.ts";
import type { ProviderApi } from "../sendgrid/api-types.ts";
import type { SuppressionEntry } from "../sendgrid/record-types.ts";
import type { CountedAccount } from "./accounts.ts";
import type { Coverage } from "./coverage.ts";
import type { Kind } from "./kinds.ts";
import type { Records } from "./records.ts";

/** What every step of a run works with. */
export interface Context {
  pool: Pool;
  log: Log;
  records: Records;
  /** The list APIs that may be asked, by the settings. */
  apis: readonly ProviderApi[];
  timeZone: string;
  run: number;
  now: () => Date;
  signal: AbortSignal | undefined;
  /** Tells how far a day is. */
  report: (work: DayWork, phase: Phase) => Promise<void>;
}

/** Calls that a day may cost. */
export interface CallLimits {
  day: number;
  guesses: number;
}

/** How much of SendGrid's records a day was held against. */
export interface Checked {
  /** Lists of messages asked for, and how many there would have been at first; a full one is split into more. */
  lists: number;
  listsPlanned: number;
  /** Single messages. */
  messages: number;
  /** Whether suppression lists were. */
  suppressions: boolean;
}

export type Phase = "totals" | "suspects" | "suppressions" | "lists" | "messages" | "repairs" | "done";

/** One account's day while it is being checked. */
export interface DayWork {
  account: CountedAccount;
  day: string;
  /** The day, and where what is too young to be missing begins. Milliseconds since 1970. */
  fromMs: number;
  toMs: number;
  settledMs: number;
  /** Where gaps of messages that the ledger does not know are filed: the source with most of the day's events. */
  mainSource: number;
  /** Still missing by SendGrid's totals, and not found yet. Undefined: there are no totals, and the lists decide. */
  wanted: Map<Kind, number> | undefined;
  /** Messages asked already, by their ids; shared by all days of a run. */
  asked: Set<string>;
  /** Messages about which no answer came; for this day they are not tried again. */
  tried: Set<string>;
  /** Calls left, for lists and messages in all, and of them for guesses. */
  callsLeft: CallLimits;
  /** Lists that are still to be asked, and messages that something points at. */
  listsLeft: number;
  messagesLeft: number;
  /** Kinds that nothing can be missing of any more, since a list of every message has shown it. */
  proven: Set<Kind>;
  /** Twins that SendGrid's records count as events of their own. */
  counted: Map<Kind, number>;
  checked: Checked;
  /** Whether something was left unasked: no calls left, or more messages in a moment than a list can show. */
  isCut: boolean;
  /** Which times of which lists this run has asked for. */
  coverage: Coverage;
  /** How many of the lists of all messages were compared. */
  lists: "all" | "some" | "none";
  /** Whether the kinds without a total were looked for. */
  groups: boolean;
  /** Messages whose missing bounce may be one that came without a message's id. */
  unlikely: Set<string>;
  /** Entries of suppression lists without an event. */
  entries: UnexplainedEntry[];
}

/** Whether nothing is left to look for. Without totals there always may be. */
export function isExplained({ wanted }: DayWork): boolean {
  return wanted !== undefined && [...wanted.values()].every((count) => count <= 0);
}

/** Calls still to come, as far as is known: each event that is looked for takes one for its message. */
export function callsToCome({ wanted, listsLeft, messagesLeft }: DayWork): number {
  const events = [...(wanted?.values() ?? [])].reduce((sum, count) => sum + Math.max(count, 0), 0);
  return listsLeft + Math.max(events, messagesLeft);
}

/** The kinds still looked for; all of them where there are no totals. */
export function isWanted({ wanted }: DayWork, kind: Kind): boolean {
  return wanted === undefined || (wanted.get(kind) ?? 0) > 0;
}

/** Takes a call for a list or a message. Whether there was one left. */
export function spendCall(work: DayWork, kind: "known" | "guess" = "known"): boolean {
  const { callsLeft } = work;
  if (callsLeft.day <= 0 || (kind === "guess" && callsLeft.guesses <= 0)) {
    work.isCut = true;
    return false;
  }
  callsLeft.day -= 1;
  if (kind === "guess") callsLeft.guesses -= 1;
  return true;
}

/** An address on a suppression list, and the kind of event that should have put it there. */
export interface UnexplainedEntry {
  entry: SuppressionEntry;
  kind: Kind;
}

/** The list APIs that this account may be asked through, as far as is known. */
export function askableApis(context: Context, { account }: DayWork): ProviderApi[] {
  return context.apis.filter((api) => !context.records.isRefused(account.name, api));
}
