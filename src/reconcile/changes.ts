import type { DayResult, KindResult } from "./report.ts";

/** What of a result makes it the same: how it was checked may differ. */
export type Figures = Pick<DayResult, "state" | "final" | "missing" | "repaired" | "open"> & { kinds: KindFigures[] };
type KindFigures = Pick<KindResult, "kind" | "sendgrid" | "held" | "repaired" | "missing" | "open" | "surplus">;

export function figuresOf({ state, final, missing, repaired, open, kinds }: Figures): Figures {
  return { state, final, missing, repaired, open, kinds: kinds.map(kindFigures) };
}

function kindFigures({ kind, sendgrid, held, repaired, missing, open, surplus }: KindFigures): KindFigures {
  return { kind, sendgrid, held, repaired, missing, open, surplus };
}

const NOTHING = { sendgrid: null, held: 0, repaired: 0, missing: 0, open: 0, surplus: 0 };

/** Why a day's result is another than before, in sentences; none when it is the same. */
export function reasonsFor(before: Figures, after: Figures): string[] {
  const reasons = after.kinds.flatMap((now) => {
    const then = before.kinds.find(({ kind }) => kind === now.kind) ?? { kind: now.kind, ...NOTHING };
    return kindReasons(then, now);
  });
  if (after.final && !before.final) reasons.push("The day is final: SendGrid's figures no longer move.");
  if (reasons.length === 0 && before.state !== after.state) reasons.push(stateReason(before, after));
  return reasons;
}

function kindReasons(then: KindFigures, now: KindFigures): string[] {
  const { kind } = now;
  const reasons: string[] = [];
  if (then.sendgrid !== now.sendgrid) {
    const text = (total: number | null): string => (total === null ? "unknown" : String(total));
    reasons.push(`SendGrid's total of ${kind} moved from ${text(then.sendgrid)} to ${text(now.sendgrid)}.`);
  }
  const brought = now.held - now.repaired - (then.held - then.repaired);
  if (brought > 0) reasons.push(`${events(brought, kind)} arrived late.`);
  if (brought < 0) reasons.push(`${events(-brought, kind)} left the ledger.`);
  const repaired = now.repaired - then.repaired;
  if (repaired > 0) reasons.push(`${events(repaired, kind)} filed from SendGrid's records.`);
  if (repaired < 0) reasons.push(`${events(-repaired, kind)} no longer repaired: the webhook's took their place.`);
  const found = now.missing - then.missing;
  if (reasons.length === 0 && found > 0) reasons.push(`${events(found, kind)} found to be missing.`);
  if (reasons.length === 0 && found < 0) reasons.push(`${events(-found, kind)} no longer found to be missing.`);
  if (reasons.length === 0 && then.surplus !== now.surplus)
    reasons.push(`The surplus of ${kind} moved from ${then.surplus} to ${now.surplus}.`);
  return reasons;
}

function events(count: number, kind: string): string {
  return `${count} ${kind} ${count === 1 ? "event" : "events"}`;
}

function stateReason(before: Figures, after: Figures): string {
  if (before.state === "unknown") return "SendGrid could be asked this time.";
  if (after.state === "unknown") return "SendGrid could not be asked this time.";
  if (after.state === "suspected") return "A rule says that something may be missing.";
  if (before.state === "suspected") return "What was suspected to be missing is there, or never was.";
  return `The result moved from ${before.state} to ${after.state}.`;
}
