/** The first line in which two texts differ, as a person reads it. */
export function firstDifference(written: string, wanted: string): string {
  const has = written.split("\n");
  const wants = wanted.split("\n");
  const index = wants.findIndex((line, at) => line !== has[at]);
  const at = index === -1 ? wants.length : index;
  return `line ${at + 1} is     ${has[at] ?? "(missing)"}\n${" ".repeat(`line ${at + 1} `.length)}wanted ${wants[at] ?? "(nothing)"}`;
}
