import type { Bench } from "./context.ts";
import type { Recorder } from "./recorder.ts";

/** A whole scenario: it measures its subjects in turns, round by round, and says what is compared with what. */
export interface Scenario {
  name: string;
  description: string;
  /** False: its figures are of no use to anybody else, and no page shows them. */
  isKept?: false;
  run(bench: Bench, recorder: Recorder): Promise<void>;
}
