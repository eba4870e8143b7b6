const formats = new Map<string, Intl.NumberFormat>();

function format(locale: string, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = locale + JSON.stringify(options);
  const known = formats.get(key) ?? new Intl.NumberFormat(locale, options);
  formats.set(key, known);
  return known;
}

/** A whole number with the language's separators: 51,204 or 51.204. A minus is a real minus sign. */
export function formatCount(value: number, locale: string): string {
  return format(locale, { maximumFractionDigits: 0 }).format(value).replace("-", "−");
}

/** A number of bytes in the unit that reads best, powers of 1,000. */
export function formatBytes(bytes: number, locale: string): string {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"] as const;
  let value = bytes;
  let step = 0;
  while (value >= 1000 && step < units.length - 1) {
    value /= 1000;
    step += 1;
  }
  return format(locale, {
    style: "unit",
    unit: units[step] ?? "byte",
    unitDisplay: step === 0 ? "long" : "short",
    maximumFractionDigits: value < 10 && step > 0 ? 1 : 0,
  }).format(value);
}

/** A rate that is exact where it is small. */
export function formatRate(perSecond: number, locale: string): string {
  return format(locale, { maximumFractionDigits: perSecond < 10 ? 1 : 0 }).format(perSecond);
}
