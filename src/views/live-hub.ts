import type { ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { DAY_MS } from "../days.ts";
import { readBalance } from "../ledger/read-balance.ts";
import type { EventKey } from "../ledger/read-events.ts";
import type { TrafficFilter } from "../ledger/read-sources.ts";
import {
  SSE_BUFFER_EVENTS_MAX,
  SSE_CLIENTS_MAX,
  SSE_FIGURES_SHARE_MAX,
  SSE_FLUSH_MS,
  SSE_HEARTBEAT_MS,
  SSE_STOP_MS_MAX,
  SSE_TICK_MS,
} from "../limits.ts";
import { createLoop } from "../loop.ts";
import { liveClients, liveCutOff } from "../metrics.ts";
import { listen } from "../postgres/listen.ts";
import { BY_INDEX } from "../postgres/transaction.ts";
import type { Rates } from "./contract-live.ts";
import type { Balance, Status } from "./contract.ts";
import type { ViewDeps } from "./deps.ts";
import { readLiveEvents } from "./live-events.ts";
import { createRing, type Announced } from "./live-ring.ts";
import { latestRates } from "./rates.ts";
import { createSseReader, type SseReader } from "./sse.ts";
import { currentStatus } from "./status.ts";
import { stillLive, type Viewer } from "./tokens.ts";
import { wantedTraffic } from "./traffic.ts";

const CHANNEL = "holdfast_filed";
/** After a failure the pages are not left alone for long. */
const FAILING_MS_MAX = 2_000;

export interface Joining {
  viewer: Viewer;
  filter: TrafficFilter;
  /** Start of the balance; undefined for the last 24 hours. */
  from: Date | undefined;
  lastEventId: string | undefined;
  response: ServerResponse;
}

/** Everything that is connected to the live stream of this process. */
export interface LiveHub {
  /** Takes a page in and gives its stream; undefined when there is no room. */
  join(joining: Joining): Readable | undefined;
  /** Says goodbye to all pages, waits a moment for them, and stops listening. */
  stop(): Promise<void>;
}

interface Client extends Omit<Joining, "lastEventId" | "response"> {
  reader: SseReader;
  cursor: number | undefined;
  /** What was sent last, to send only what changed. */
  balance: string;
  status: string;
  rates: string;
}

/** One LISTEN and two loops for all pages of this process: one sends events, one sends figures. They rest while no page is open. */
export function createLiveHub(deps: ViewDeps): LiveHub {
  const { databaseUrl, log, instance } = deps;
  const clients = new Set<Client>();
  const ring = createRing(SSE_BUFFER_EVENTS_MAX);
  let hasListened = false;
  let stopping = false;

  const listener = listen({
    databaseUrl,
    channel: CHANNEL,
    log,
    onNotification(payload) {
      const announced = readAnnouncement(payload);
      if (announced !== undefined) ring.add(announced);
      else log.warn({ channel: CHANNEL }, "an announcement could not be read");
    },
    onConnect() {
      // What was filed while nobody listened is unknown, so all pages start afresh.
      if (hasListened) ring.clear();
      hasListened = true;
    },
  });
  const events = createLoop({
    name: "live events",
    log,
    tick: async () => sendEvents(deps, ring, clients),
    idleMs: () => (clients.size === 0 ? Infinity : SSE_FLUSH_MS),
    failingMsMax: FAILING_MS_MAX,
  });
  const figures = createLoop({
    name: "live figures",
    log,
    tick: createFiguresTick(deps, clients),
    idleMs: () => (clients.size === 0 ? Infinity : SSE_TICK_MS),
    failingMsMax: FAILING_MS_MAX,
  });
  events.start();
  figures.start();

  return {
    join({ lastEventId, response, ...rest }) {
      if (stopping || clients.size >= SSE_CLIENTS_MAX) return undefined;
      const reader = createSseReader({ response, onCutOff: () => liveCutOff.inc() });
      const cursor = lastEventId === undefined ? undefined : readEventId(instance, lastEventId);
      const client: Client = { ...rest, reader, cursor, balance: "", status: "", rates: "" };
      clients.add(client);
      liveClients.set(clients.size);
      reader.body.once("close", () => {
        clients.delete(client);
        liveClients.set(clients.size);
      });
      events.wake();
      figures.wake();
      return reader.body;
    },
    async stop() {
      stopping = true;
      await Promise.all([events.stop(), figures.stop(), listener.stop()]);
      const leaving = [...clients];
      for (const { reader } of leaving) sayGoodbye(reader);
      const left = Promise.all(leaving.map(({ reader }) => reader.closed));
      await Promise.race([left, delay(SSE_STOP_MS_MAX, undefined, { ref: false })]);
      for (const { reader } of leaving) reader.cutOff();
    },
  };
}

function sayGoodbye(reader: SseReader): void {
  reader.send("end", {});
  reader.end();
}

/** `<instance>-<number>`; undefined for what another process gave out, or nobody. */
function readEventId(instance: string, id: string): number | undefined {
  const digits = id.startsWith(`${instance}-`) ? id.slice(instance.length + 1) : "";
  return /^\d{1,15}$/.test(digits) ? Number(digits) : undefined;
}

function readAnnouncement(payload: string): Announced | undefined {
  let read: unknown;
  try {
    read = JSON.parse(payload);
  } catch {
    return undefined;
  }
  if (typeof read !== "object" || read === null || !("filed" in read) || !("events" in read)) return undefined;
  const { filed, events } = read;
  if (typeof filed !== "number" || !Array.isArray(events) || !events.every(isEventKey)) return undefined;
  return { keys: events, skipped: Math.max(0, filed - events.length) };
}

function isEventKey(value: unknown): value is EventKey {
  return Array.isArray(value) && value.length === 2 && typeof value[0] === "number" && typeof value[1] === "string";
}

async function sendEvents(
  { read, instance }: ViewDeps,
  ring: ReturnType<typeof createRing>,
  clients: ReadonlySet<Client>,
): Promise<boolean> {
  const upTo = ring.last;
  const behind = [...clients].filter(({ cursor }) => cursor !== upTo);
  if (behind.length === 0) return false;
  const answers = await read((tx) => readLiveEvents(tx, ring, behind), undefined, BY_INDEX);
  for (const [index, client] of behind.entries()) {
    const answer = answers[index];
    // What was announced while reading comes next time.
    client.cursor = upTo;
    if (answer !== undefined) client.reader.send("events", answer, `${instance}-${upTo}`);
  }
  return false;
}

/** The tick that sends balance and status, keeps connections alive, and ends those whose session is over. */
function createFiguresTick(deps: ViewDeps, clients: ReadonlySet<Client>): () => Promise<boolean> {
  let notBeforeMs = 0;
  return async () => {
    const startMs = performance.now();
    const isNew = [...clients].some(({ status }) => status === "");
    if (clients.size === 0 || (startMs < notBeforeMs && !isNew)) return false;
    await sendFigures(deps, clients);
    await endSessions(deps, clients);
    for (const { reader } of clients) if (Date.now() - reader.lastSentMs > SSE_HEARTBEAT_MS) reader.heartbeat();
    const tookMs = performance.now() - startMs;
    notBeforeMs = performance.now() + tookMs * (1 / SSE_FIGURES_SHARE_MAX - 1);
    return false;
  };
}

async function sendFigures(deps: ViewDeps, clients: ReadonlySet<Client>): Promise<void> {
  const status = await currentStatus(deps);
  // Pages that show the same get the same: most look at the last 24 hours of the same traffic.
  const known = new Map<string, Figures>();
  for (const client of clients) {
    const from = client.from ?? new Date(Date.now() - DAY_MS);
    const key = JSON.stringify([client.filter, from.toISOString().slice(0, 13)]);
    const figures = known.get(key) ?? (await figuresOf(deps, client.filter, from));
    known.set(key, figures);
    sendChanged(client, { ...figures, status });
  }
}

interface Figures {
  balance: Balance;
  rates: Rates;
}

/** What a page has already is not sent again. */
function sendChanged(client: Client, figures: Figures & { status: Status }): void {
  for (const kind of ["balance", "status", "rates"] as const) {
    const text = JSON.stringify(figures[kind]);
    if (client[kind] === text) continue;
    client[kind] = text;
    client.reader.send(kind, figures[kind]);
  }
}

function figuresOf({ read }: ViewDeps, filter: TrafficFilter, from: Date): Promise<Figures> {
  return read(async (tx) => {
    const { wanted } = await wantedTraffic(tx, filter);
    return { balance: await readBalance(tx, { sources: wanted, from }), rates: await latestRates(tx, wanted) };
  });
}

async function endSessions({ pool }: ViewDeps, clients: ReadonlySet<Client>): Promise<void> {
  const live = await stillLive(
    pool,
    [...clients].map(({ viewer }) => viewer.token),
  );
  for (const { viewer, reader } of clients) if (!live.has(viewer.token)) sayGoodbye(reader);
}
