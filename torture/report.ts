import type { ActReport } from "./run.ts";

/** A report as people read it. */
export function describeReport(report: ActReport): string {
  const { act, posts, setFull, staleness, balance, problems } = report;
  const { ok, lost, unkept, double, phantom, recovered, absent } = setFull;
  const { accepted, stored, duplicate, quarantined, lost: unbalanced } = balance.events;
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
  return [
    `${act.world}: ${report.strikes} strikes, ${report.receipts} receipts, ${report.messages} messages, ${report.events} events`,
    `  POSTs    ${posts.invoked} sent: ${posts.acknowledged} acknowledged, ${posts.refused} refused, ${posts.broken} without an answer`,
    `  events   ${ok} ok, ${lost.length} lost, ${double.length} double, ${unkept.length} not kept, ${phantom.length} from nowhere; ` +
      `${recovered} recovered, ${absent} never acknowledged and absent`,
    `  visible  ${staleness.stale} POSTs stale; half after ${seconds(staleness.p50Ms)}, 99 % after ${seconds(staleness.p99Ms)}, all after ${seconds(staleness.maxMs)}`,
    `  balance  ${accepted} accepted = ${stored} stored + ${duplicate} duplicate + ${quarantined} quarantined, ${unbalanced} lost; ` +
      `${balance.retries.attempted} deadlock retries, ${balance.retries.rescued} rescued, ${balance.retries.exhausted} exhausted`,
    ...(problems.length === 0 ? ["  nothing is wrong"] : problems.map((problem) => `  WRONG    ${problem}`)),
  ].join("\n");
}
