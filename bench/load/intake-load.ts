import { totalmem } from "node:os";
import type { Bench } from "../context.ts";
import type { PrepareOrder } from "./orders.ts";

/** Connections for each number of events per POST. */
const CONNECTIONS: Readonly<Record<number, number>> = { 1: 50, 10: 50, 100: 20, 500: 10 };
const DOUBLED_ONE_IN = 10;
/** What the fastest subject can send in ten seconds and more; what comes after is made on the way. */
const PREPARED_BYTES: Readonly<Record<number, number>> = { 1: 100e6, 10: 500e6 };
const PREPARED_BYTES_MAX = Math.min(2e9, totalmem() / 8);
const QUICK_BYTES = 30e6;
const QUICK_POSTS = 10_000;

/** On how many connections POSTs of so many events are sent. */
export function connectionsFor(batch: number): number {
  return CONNECTIONS[batch] ?? 20;
}

/** POSTs of so many events, one in ten to be sent twice at once. */
export function intakeLoad(bench: Bench, batch: number): Omit<PrepareOrder, "kind"> {
  const { flags, sampleFile, key } = bench;
  return {
    sampleFile,
    cut: { eventsMin: batch, eventsMax: batch, firstEvent: 0 },
    bytes: flags.quick ? QUICK_BYTES : Math.min(PREPARED_BYTES_MAX, PREPARED_BYTES[batch] ?? Infinity),
    posts: flags.quick ? QUICK_POSTS : Infinity,
    doubledOneIn: DOUBLED_ONE_IN,
    privateKey: key.privateKeyText,
  };
}
