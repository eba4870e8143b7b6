/** A line that is rewritten in place while long work goes on. */
export interface Progress {
  /** `done` of `total` in `unit`; a total of 0 shows the count alone. `note` stands behind. */
  show(label: string, done: number, total: number, note?: string): void;
  /** Removes the line, so that what is printed next stands alone. */
  clear(): void;
}

interface Output {
  isTTY?: boolean;
  columns?: number;
  write(text: string): unknown;
}

const BAR_CHARS = 24;
/** Faster than this nobody can read, and every write costs. */
const REDRAW_MS = 100;

/** Draws on a terminal only; elsewhere it is silent, so that logs and pipes stay clean. */
export function createProgress(output: Output = process.stderr, now: () => number = Date.now): Progress {
  if (output.isTTY !== true) return { show: () => undefined, clear: () => undefined };
  let drawnMs = -Infinity;
  let isDrawn = false;
  return {
    show(label, done, total, note = "") {
      const nowMs = now();
      const isEnd = total > 0 && done >= total;
      if (nowMs - drawnMs < REDRAW_MS && !isEnd) return;
      drawnMs = nowMs;
      isDrawn = true;
      output.write(`\r\u001B[K${line(label, done, total, note).slice(0, (output.columns ?? 80) - 1)}`);
    },
    clear() {
      if (isDrawn) output.write("\r\u001B[K");
      isDrawn = false;
      drawnMs = -Infinity;
    },
  };
}

function line(label: string, done: number, total: number, note: string): string {
  const count = done.toLocaleString("en-GB");
  const behind = note === "" ? "" : `  ${note}`;
  if (total <= 0) return `${label}  ${count}${behind}`;
  const filled = Math.round(BAR_CHARS * Math.min(1, done / total));
  return `${label}  ${"█".repeat(filled)}${"░".repeat(BAR_CHARS - filled)}  ${count} of ${total.toLocaleString("en-GB")}${behind}`;
}
