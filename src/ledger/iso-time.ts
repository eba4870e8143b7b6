let last = { milliseconds: 0, text: new Date(0).toISOString() };

/** ISO 8601 in UTC. The times of a message are often one and the same, and to write a date costs more than to compare a number. */
export function isoTime(milliseconds: number): string {
  if (last.milliseconds !== milliseconds) last = { milliseconds, text: new Date(milliseconds).toISOString() };
  return last.text;
}
