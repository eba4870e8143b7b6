import type { Cut } from "./posts.ts";

/** What the load generator is told, and what it answers. */

export interface PrepareOrder {
  kind: "prepare";
  sampleFile: string;
  cut: Cut;
  /** How many bytes of signed bodies are made before anything is measured; what is needed beyond is made on the way. */
  bytes: number;
  /** No more than these many are ever needed. */
  posts?: number;
  /** One of so many POSTs is sent twice at once; 0: none. */
  doubledOneIn: number;
  /** PEM. */
  privateKey: string;
}

export interface RunOrder {
  kind: "run";
  /** The webhook's whole address. */
  url: string;
  connections: number;
  warmUpMs: number;
  measureMs: number;
  /** The number of the first POST; default 0. */
  postsFrom?: number;
  /** The number of the POST that is not sent any more; unset: until the time is over. */
  postsMax?: number;
  /**
   * POSTs a second, whatever the answers: latency then counts from the moment a POST is due, so that a receiver that stalls
   * cannot hide it. Unset: each connection sends its next POST when the last is answered.
   */
  postsPerSecond?: number;
  /** Asks the API for the last event of an answered POST until it is there: again and again, one at a time. */
  probe?: { url: string; token: string; everyMs: number };
}

export interface Prepared {
  kind: "prepared";
  posts: number;
}

export interface LoadReport {
  kind: "report";
  /** The measured time: the window, or less where the POSTs ran out. */
  seconds: number;
  /** Answers with 2xx within the window. */
  posts: number;
  /** Events of distinct POSTs answered with 2xx for the first time within the window. */
  events: number;
  /** Milliseconds of the answers within the window. */
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  /** All answers with 2xx, warm-up included. */
  answered: number;
  /** All events of acknowledged distinct POSTs, warm-up included. */
  eventsAcknowledged: number;
  /** The numbers of the distinct POSTs that were acknowledged, from 0. */
  acknowledged: number[];
  /** Other answers by status, and broken connections. */
  refused: Record<string, number>;
  /** The next POST's number: where another run can go on. */
  nextPost: number;
  /** With `postsPerSecond`: the longest that the generator did not run, which nothing that it measures can be quicker than. */
  pausedMs: number;
  /** From a POST's answer until the API shows its last event, in milliseconds. */
  visibleMs: number[];
  /** CPU seconds of the generator in the window: what it takes from the machine. */
  cpuSeconds: number;
}

export type Order = PrepareOrder | RunOrder;
export type Answer = Prepared | LoadReport;
