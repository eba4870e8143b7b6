/** The middle value; of an even number, the mean of the two middle ones. NaN of nothing. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** The smallest value that at least this share of the values does not exceed. NaN of nothing. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** Three digits that matter, with thousands separated: 0.0123, 4.56, 78.9, 1,230. */
export function format(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString("en-GB");
  const decimals = size === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(size)));
  return value
    .toFixed(Math.min(decimals, 6))
    .replace(/(\.\d*?)0+$/, "$1")
    .replace(/\.$/, "");
}

/** `median (least–greatest)`, or the value alone where there is one. */
export function formatSpread(values: readonly number[]): string {
  if (values.length <= 1) return format(median(values));
  return `${format(median(values))} (${format(Math.min(...values))}–${format(Math.max(...values))})`;
}
