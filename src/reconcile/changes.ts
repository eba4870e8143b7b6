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

/** Why a result is another than before: a code, which the page has words for, and what belongs to it. */
export type ChangeReason =
  | { code: "total_moved"; kind: string; before: number | null; after: number | null }
  | { code: CountedCode; kind: string; count: number }
  | { code: "surplus_moved"; kind: string; before: number; after: number }
  | { code: "final" | "answered" | "unanswered" | "suspicion" | "suspicion_ended" }
  | { code: "state_moved" | "time_zone_moved"; before: string; after: string };
type CountedCode = "late" | "left" | "repaired" | "replaced" | "found_missing" | "not_missing";

/** Why a day's result is another than before; nothing when it is the same. */
export function reasonsFor(before: Figures, after: Figures): ChangeReason[] {
  const reasons = after.kinds.flatMap((now) => {
    const then = before.kinds.find(({ kind }) => kind === now.kind) ?? { kind: now.kind, ...NOTHING };
    return kindReasons(then, now);
  });
  if (after.final && !before.final) reasons.push({ code: "final" });
  if (reasons.length === 0 && before.state !== after.state) reasons.push(stateReason(before, after));
  return reasons;
}

function kindReasons(then: KindFigures, now: KindFigures): ChangeReason[] {
  const { kind } = now;
  const reasons: ChangeReason[] = [];
  if (then.sendgrid !== now.sendgrid)
    reasons.push({ code: "total_moved", kind, before: then.sendgrid, after: now.sendgrid });
  const brought = now.held - now.repaired - (then.held - then.repaired);
  if (brought > 0) reasons.push({ code: "late", kind, count: brought });
  if (brought < 0) reasons.push({ code: "left", kind, count: -brought });
  const repaired = now.repaired - then.repaired;
  if (repaired > 0) reasons.push({ code: "repaired", kind, count: repaired });
  if (repaired < 0) reasons.push({ code: "replaced", kind, count: -repaired });
  const found = now.missing - then.missing;
  if (reasons.length === 0 && found > 0) reasons.push({ code: "found_missing", kind, count: found });
  if (reasons.length === 0 && found < 0) reasons.push({ code: "not_missing", kind, count: -found });
  if (reasons.length === 0 && then.surplus !== now.surplus)
    reasons.push({ code: "surplus_moved", kind, before: then.surplus, after: now.surplus });
  return reasons;
}

function stateReason(before: Figures, after: Figures): ChangeReason {
  if (before.state === "unknown") return { code: "answered" };
  if (after.state === "unknown") return { code: "unanswered" };
  if (after.state === "suspected") return { code: "suspicion" };
  if (before.state === "suspected") return { code: "suspicion_ended" };
  return { code: "state_moved", before: before.state, after: after.state };
}
