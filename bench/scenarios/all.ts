import type { Flags } from "../context.ts";
import type { Scenario } from "../scenario.ts";
import { BURST } from "./burst.ts";
import { COST } from "./cost.ts";
import { DISK } from "./disk.ts";
import { ENRICHMENT } from "./enrichment.ts";
import { GROWTH } from "./growth.ts";
import { INTAKE } from "./intake.ts";
import { LIVE } from "./live.ts";
import { PROJECTION } from "./projection.ts";
import { VERSIONS } from "./versions.ts";

/** In the order in which they run. */
export const SCENARIOS: readonly Scenario[] = [
  INTAKE,
  BURST,
  PROJECTION,
  DISK,
  GROWTH,
  ENRICHMENT,
  COST,
  LIVE,
  VERSIONS,
];

/** The scenarios that a run is to have, or what is wrong with the question. Two checkouts are compared only when that is asked for. */
export function wantedScenarios({
  scenarios: names,
  against,
}: Pick<Flags, "scenarios" | "against">): Scenario[] | string {
  const unknown = names.filter((name) => !SCENARIOS.some((scenario) => scenario.name === name));
  if (unknown.length > 0) return `There is no scenario ${unknown.join(", ")}.`;
  const compares = names.includes(VERSIONS.name);
  if (compares && against === undefined) return `${VERSIONS.name} needs --against FOLDER.`;
  if (!compares && against !== undefined) return `--against belongs to the scenario ${VERSIONS.name}.`;
  return SCENARIOS.filter((scenario) => (names.length === 0 ? scenario !== VERSIONS : names.includes(scenario.name)));
}
