import type { FastifyRequest } from "fastify";
import { ClientError } from "../errors.ts";
import type { TrafficFilter } from "../ledger/read-sources.ts";
import { ARG_FILTERS_MAX, ARG_KEY_CHARS_MAX, QUERY_CHARS_MAX } from "../limits.ts";
import { MESSAGE_STATES, type MessageState, type Simulated } from "./contract.ts";

const ARG_PREFIX = "arg.";

/**
 * A hook that refuses what no schema can name: parameters that the route does not have (a mistyped filter must not
 * silently show everything), and NUL characters, which PostgreSQL cannot hold in text.
 */
export async function checkParameters(request: FastifyRequest): Promise<void> {
  const query = request.query as Record<string, unknown>;
  const schema = request.routeOptions.schema?.querystring as { properties?: Record<string, unknown> } | undefined;
  const takesArgs = request.routeOptions.config.takesArgs === true;
  for (const [name, value] of Object.entries(query)) {
    if (hasNul(name) || hasNul(value))
      throw new ClientError("bad_request", `${nameOf(name)} must not hold a NUL character`);
    if (request.routeOptions.config.takesUnknown === true) continue;
    const isKnown = Object.hasOwn(schema?.properties ?? {}, name) || (takesArgs && name.startsWith(ARG_PREFIX));
    if (!isKnown) throw new ClientError("bad_request", `${nameOf(name)} is not a parameter of this address`);
  }
  for (const [name, value] of Object.entries(request.params as Record<string, unknown>)) {
    if (hasNul(value)) throw new ClientError("bad_request", `${name} must not hold a NUL character`);
  }
}

declare module "fastify" {
  interface FastifyContextConfig {
    /** The route takes `arg.KEY` parameters with any key. */
    takesArgs?: boolean;
    /** The route is called by others, who may add parameters of their own. */
    takesUnknown?: boolean;
  }
}

function hasNul(value: unknown): boolean {
  return Array.isArray(value) ? value.some((each) => hasNul(each)) : typeof value === "string" && value.includes("\0");
}

/** A parameter's name as it can be shown: hostile ones are long. */
function nameOf(name: string): string {
  return JSON.stringify(name.slice(0, 60)).slice(1, -1);
}

/** The `arg.KEY=VALUE` parameters. */
export function readArgFilters(query: Record<string, unknown>): (readonly [key: string, value: string])[] {
  const filters: (readonly [string, string])[] = [];
  for (const [name, value] of Object.entries(query)) {
    if (!name.startsWith(ARG_PREFIX)) continue;
    const key = name.slice(ARG_PREFIX.length);
    if (key === "" || key.length > ARG_KEY_CHARS_MAX) {
      throw new ClientError(
        "bad_request",
        `${nameOf(name)} must name a custom arg of at most ${ARG_KEY_CHARS_MAX} characters`,
      );
    }
    if (typeof value !== "string") throw new ClientError("bad_request", `${nameOf(name)} must be given once`);
    if (value.length > QUERY_CHARS_MAX) {
      throw new ClientError("bad_request", `${nameOf(name)} must not have more than ${QUERY_CHARS_MAX} characters`);
    }
    filters.push([key, value]);
  }
  if (filters.length > ARG_FILTERS_MAX) {
    throw new ClientError("bad_request", `at most ${ARG_FILTERS_MAX} arg. parameters can be given`);
  }
  return filters;
}

const DATE_OR_TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;

/** Reads a time with a zone, or a date as its midnight in UTC. */
export function readTime(name: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const time = new Date(DATE_OR_TIME.test(text) ? text : Number.NaN);
  // JavaScript rolls 30 February over into March; the day that was asked for must come back out.
  const isReal = !Number.isNaN(time.getTime()) && isCalendarDay(text.slice(0, 10)) && time.getUTCFullYear() >= 1900;
  if (!isReal)
    throw new ClientError("bad_request", `${name} must be a time like 2026-03-01T09:00:00Z or a date like 2026-03-01`);
  return time;
}

function isCalendarDay(day: string): boolean {
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
}

/** Reads `state`: one of MESSAGE_STATES or several separated by commas. */
export function readStates(text: string | undefined): MessageState[] {
  if (text === undefined) return [];
  return text.split(",").map((part) => {
    const state = MESSAGE_STATES.find((candidate) => candidate === part);
    if (state === undefined)
      throw new ClientError("bad_request", `state must be one or more of ${MESSAGE_STATES.join(", ")}`);
    return state;
  });
}

const SIMULATED = { false: false, true: true, all: "all" } as const;

export function trafficFilter(
  query: { source?: string; simulated?: Simulated },
  leftOut: TrafficFilter["simulated"] = "auto",
): TrafficFilter {
  return { source: query.source, simulated: query.simulated === undefined ? leftOut : SIMULATED[query.simulated] };
}

/** A row number in a path. */
export function readRowNumber(text: string): number | undefined {
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
}
