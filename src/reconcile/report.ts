import type { Checked } from "./context.ts";
import type { NamedGaps } from "./gaps.ts";
import type { Held } from "./held.ts";
import { KINDS, type Kind } from "./kinds.ts";
import { difference, type Totals } from "./totals.ts";

/**
 * How sure the figures of a kind are:
 * - `certain`: SendGrid's total is equal, or every event that it counts beyond the webhook's is known by name.
 * - `likely`: there is no total, and lists of the messages were compared.
 * - `partial`: something is missing that no record has named, or not all could be asked.
 * - `unknown`: SendGrid was not asked.
 */
export type Confidence = "certain" | "likely" | "partial" | "unknown";

/** What a day says of a kind. */
export interface KindResult {
  kind: Kind;
  sendgrid: number | null;
  /** All that the ledger holds, what was repaired among it. */
  held: number;
  repaired: number;
  missing: number;
  open: number;
  surplus: number;
  /** Twins of the ledger that SendGrid's records count as events of their own. */
  counted: number;
  /** totals, lists, rules; and where gaps are known by name, the records that named them; joined by +. */
  checkedBy: string;
  confidence: Confidence;
}

export type DayState = "equal" | "repaired" | "suspected" | "missing" | "unknown";

/** What the check of a day and account says. */
export interface DayResult {
  day: string;
  account: string;
  state: DayState;
  /** SendGrid's figures no longer move. */
  final: boolean;
  /** What no webhook brought. */
  missing: number;
  /** Of that, filed from SendGrid's records. */
  repaired: number;
  open: number;
  kinds: KindResult[];
  /** What this check asked for; the figures may rest on earlier ones too. */
  checked: Checked;
}

/** What a result is made of. */
export interface Findings {
  checked: Checked;
  day: string;
  account: string;
  totals: Totals | undefined;
  held: ReadonlyMap<Kind, Held>;
  named: ReadonlyMap<Kind, NamedGaps>;
  suspected: number;
  /** The day has ended, and long enough ago for its events to be there. */
  isOver: boolean;
  final: boolean;
  /** Whether lists of all messages were compared. */
  lists: "all" | "some" | "none";
  /** Whether a list of the messages with kinds without a total was. */
  groups: boolean;
}

/**
 * The result of a day. What no webhook brought is missing: as many as SendGrid's total says, or as are known by name,
 * whichever is more. Of a day that goes on only what is known by name is missing, since the two are never of one moment.
 */
export function resultOf(findings: Findings): DayResult {
  const { day, account, totals, suspected, final, lists, checked } = findings;
  const kinds = KINDS.map((kind) => kindResult(kind, findings));
  const sum = (key: "missing" | "repaired" | "open"): number => kinds.reduce((total, kind) => total + kind[key], 0);
  const figures = { missing: sum("missing"), repaired: sum("repaired"), open: sum("open") };
  let state: DayState = totals === undefined && lists !== "all" ? "unknown" : "equal";
  if (suspected > 0) state = "suspected";
  if (figures.missing > 0) state = figures.open > 0 ? "missing" : "repaired";
  return { day, account, state, final, ...figures, kinds, checked };
}

function kindResult(kind: Kind, findings: Findings): KindResult {
  const { totals, held, named, isOver } = findings;
  const { held: all, repaired: filed, counted } = held.get(kind) ?? { held: 0, repaired: 0, counted: 0 };
  const brought = new Map(
    [...held].map(([other, own]) => [other, { ...own, held: own.held - own.repaired, repaired: 0 }]),
  );
  const gaps = named.get(kind) ?? { missing: 0, open: 0, means: [] };
  const byTotal = isOver ? difference(kind, totals, brought).missing : 0;
  const missing = Math.max(byTotal, gaps.missing, filed);
  const open = missing - filed;
  return {
    kind,
    sendgrid: totals?.get(kind) ?? null,
    held: all,
    repaired: filed,
    missing,
    open,
    surplus: isOver ? difference(kind, totals, held).surplus : 0,
    counted,
    ...assurance(kind, findings, { gaps, unnamed: open - gaps.open }),
  };
}

function assurance(
  kind: Kind,
  { totals, lists, groups }: Findings,
  { gaps, unnamed }: { gaps: NamedGaps; unnamed: number },
): Pick<KindResult, "checkedBy" | "confidence"> {
  const hasTotal = (totals?.get(kind) ?? null) !== null;
  // Beside totals, lists are looked through for what these say is missing, and for the kinds that they do not count.
  const listed = totals === undefined ? lists : ({ true: "all", false: "none" } as const)[`${groups}`];
  const means = [...(hasTotal ? ["totals"] : []), ...(!hasTotal && listed !== "none" ? ["lists"] : []), ...gaps.means];
  const checkedBy = means.length === 0 ? "rules" : [...new Set(means)].join("+");
  if (unnamed > 0) return { checkedBy, confidence: "partial" };
  if (hasTotal) return { checkedBy, confidence: "certain" };
  return { checkedBy, confidence: ({ all: "likely", some: "partial", none: "unknown" } as const)[listed] };
}
