import type { Scenario } from "../scenario.ts";
import { BURST } from "./burst.ts";
import { COST } from "./cost.ts";
import { DISK } from "./disk.ts";
import { ENRICHMENT } from "./enrichment.ts";
import { GROWTH } from "./growth.ts";
import { INTAKE } from "./intake.ts";
import { LIVE } from "./live.ts";
import { PROJECTION } from "./projection.ts";

/** In the order in which they run. */
export const SCENARIOS: readonly Scenario[] = [INTAKE, BURST, PROJECTION, DISK, GROWTH, ENRICHMENT, COST, LIVE];
