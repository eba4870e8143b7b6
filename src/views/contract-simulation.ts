/**
 * The public interface of the simulation: a bounded run of made-up traffic through this process's own webhook, one at a
 * time, and the purge of what such runs left. The rules at the top of contract.ts hold here too; it needs the role admin.
 */
import Type, { type Static } from "typebox";
import {
  PAGE_SIMULATION_DEADLOCKS_MAX,
  PAGE_SIMULATION_EVENTS_MAX,
  PAGE_SIMULATION_RATE_MAX,
  PAGE_SIMULATION_SEED_CHARS_MAX,
} from "../limits.ts";
import { Count, Time, TimeOrNull } from "./contract.ts";

/** POST /api/simulation. */
export const SimulationOrderSchema = Type.Object(
  {
    events: Type.Integer({ minimum: 1, maximum: PAGE_SIMULATION_EVENTS_MAX, description: "distinct events" }),
    rate: Type.Integer({
      minimum: 0,
      maximum: PAGE_SIMULATION_RATE_MAX,
      description: "events a second; 0: as fast as it goes",
    }),
    duplicates: Type.Number({ minimum: 0, maximum: 1, description: "the share of events posted again" }),
    shuffle: Type.Boolean({ description: "post events out of their order" }),
    deadlocks: Type.Integer({
      minimum: 0,
      maximum: PAGE_SIMULATION_DEADLOCKS_MAX,
      description: "a second connection locks rows in the opposite order, so many times",
    }),
    dropConnection: Type.Boolean({ description: "end the ledger's database connection once, in mid-transaction" }),
    seed: Type.String({
      minLength: 1,
      maxLength: PAGE_SIMULATION_SEED_CHARS_MAX,
      pattern: "^[^\\u0000-\\u001f\\u007f]*$",
      description: "makes the run's mails repeatable",
    }),
  },
  { additionalProperties: false },
);
export type SimulationOrder = Static<typeof SimulationOrderSchema>;

export const SimulationFiguresSchema = Type.Object({
  accepted: Count,
  stored: Count,
  duplicate: Count,
  quarantined: Count,
  lost: Type.Integer({ description: "accepted - stored - duplicate - quarantined" }),
  retries: Count,
  rescued: Count,
  exhausted: Count,
});
export type SimulationFigures = Static<typeof SimulationFiguresSchema>;

/** A moment of the run: everything since its start. */
export const SimulationSampleSchema = Type.Object({ atSeconds: Type.Number(), processed: Count, retries: Count });
export type SimulationSample = Static<typeof SimulationSampleSchema>;

/** What the comparison by id found when all was filed. */
export const SimulationResultSchema = Type.Object({
  flawless: Type.Boolean(),
  start: Type.Union([Time, Type.Null()], {
    description: "with the seed and the options it makes the same mails again",
  }),
  seconds: Type.Number(),
  acknowledged: Type.Integer({ minimum: 0, description: "distinct events that the webhook answered with 200" }),
  processed: Count,
  lost: Count,
  double: Count,
  pending: Type.Integer({ minimum: 0, description: "receipts that were not filed when the comparison began" }),
  givenUp: Type.Integer({ minimum: 0, description: "POSTs never acknowledged" }),
  lostIds: Type.Array(Type.String()),
  doubleIds: Type.Array(Type.String()),
});
export type SimulationResult = Static<typeof SimulationResultSchema>;

/** The run of this process: the present one, or the last. */
export const SimulationRunSchema = Type.Object({
  phase: Type.Enum(["posting", "filing", "comparing", "done", "failed"]),
  stopped: Type.Boolean({ description: "somebody ended the posting early" }),
  order: SimulationOrderSchema,
  startedAt: Time,
  endedAt: TimeOrNull,
  acknowledged: Count,
  /** POSTs. */
  posts: Type.Object({ sent: Count, again: Count }),
  forced: Type.Object({ deadlocks: Count, connections: Count }),
  figures: SimulationFiguresSchema,
  samples: Type.Array(SimulationSampleSchema),
  result: Type.Union([SimulationResultSchema, Type.Null()]),
  error: Type.Union([Type.String(), Type.Null()]),
});
export type SimulationRun = Static<typeof SimulationRunSchema>;

/** GET /api/simulation. POST answers the same. DELETE ends the posting; what was posted is still filed and compared. */
export const SimulationSchema = Type.Object({
  available: Type.Boolean({ description: "whether this process can run one: it needs the role intake" }),
  run: Type.Union([SimulationRunSchema, Type.Null()]),
  held: Type.Object(
    { receipts: Count, events: Count },
    { description: "what the ledger holds of all simulated sources" },
  ),
  purgeOrderedAt: Type.Union([Time, Type.Null()], { description: "a purge is under way" }),
});
export type Simulation = Static<typeof SimulationSchema>;
