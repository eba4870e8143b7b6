import { dayIn } from "../days.ts";
import type { Day } from "./days.ts";
import type { ViewDeps } from "./deps.ts";

/** The zone that the accounts' days are counted in from now on; results of before name their own. */
export function accountZone({ config }: Pick<ViewDeps, "config">): { timeZone: string; today: Day } {
  const timeZone = config.HOLDFAST_ACCOUNT_TIME_ZONE;
  return { timeZone, today: dayIn(timeZone, new Date()) };
}
