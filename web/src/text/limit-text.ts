import { formatBytes, formatCount, formatRate } from "./number.ts";

const TIME_UNITS = { MS: "millisecond", SECONDS: "second", MINUTES: "minute", HOURS: "hour", DAYS: "day" } as const;

/** A limit with the unit that its name ends with (see src/limits.ts): "5.2 MB", "30 sec", "200". */
export function limitText(name: string, value: number, locale: string): string {
  const words = name.toUpperCase().split(/[_.]/);
  if (words.includes("BYTES")) return formatBytes(value, locale);
  const unit = words.findLast((word): word is keyof typeof TIME_UNITS => Object.hasOwn(TIME_UNITS, word));
  // CALLS_PER_MINUTE is a number of calls, and DAYS in the middle of a name still say what is counted.
  if (unit !== undefined) return span(value, unit, locale);
  return Number.isInteger(value) ? formatCount(value, locale) : formatRate(value, locale);
}

const MS_OF = { MS: 1, SECONDS: 1_000, MINUTES: 60_000, HOURS: 3_600_000, DAYS: 86_400_000 } as const;

/** In the largest unit that leaves nothing over. */
function span(value: number, given: keyof typeof MS_OF, locale: string): string {
  const ms = value * MS_OF[given];
  const units = Object.keys(MS_OF) as (keyof typeof MS_OF)[];
  const fitting = units.findLast((unit) => ms !== 0 && ms % MS_OF[unit] === 0) ?? given;
  return new Intl.NumberFormat(locale, { style: "unit", unit: TIME_UNITS[fitting], unitDisplay: "short" }).format(
    ms / MS_OF[fitting],
  );
}
