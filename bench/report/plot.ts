/** Bars on a logarithmic scale, as SVG: every mark further to the right is ten times as much. Colours are legible on light and dark pages. */

export interface Series {
  label: string;
  colour: string;
}

export interface Group {
  label: string;
  /** One for each series; undefined where it was not measured. */
  values: readonly (number | undefined)[];
}

const WIDTH = 860;
const LEFT = 120;
const RIGHT = 90;
const TOP = 64;
const BAR = 15;
const GAP = 18;
const LEGEND_WIDTH = 240;
const LEGEND_LINE = 18;

export function plotBars(title: string, series: readonly Series[], groups: readonly Group[]): string {
  const values = groups
    .flatMap((group) => group.values)
    .filter((value) => value !== undefined && value > 0) as number[];
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.ceil(Math.log10(Math.max(...values)));
  const columns = Math.floor((WIDTH - LEFT) / LEGEND_WIDTH);
  const top = TOP + Math.ceil(series.length / columns) * LEGEND_LINE;
  const groupHeight = series.length * BAR + GAP;
  const height = top + groups.length * groupHeight + 24;
  const x = (value: number): number =>
    LEFT + ((Math.log10(value) - low) / Math.max(1, high - low)) * (WIDTH - LEFT - RIGHT);
  const parts = [
    `<text x="16" y="28" font-size="17" font-weight="600">${escape(title)}</text>`,
    ...legend(series, columns),
    ...axis({ low, high, top, height, x }),
    ...groups.flatMap((group, at) => bars(group, series, top + at * groupHeight, x)),
  ];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escape(title)}" font-family="system-ui, sans-serif" font-size="12" fill="#7a828e">`,
    ...parts.map((part) => `  ${part}`),
    "</svg>",
    "",
  ].join("\n");
}

function legend(series: readonly Series[], columns: number): string[] {
  return series.map(({ label, colour }, at) => {
    const left = LEFT + (at % columns) * LEGEND_WIDTH;
    const top = 44 + Math.floor(at / columns) * LEGEND_LINE;
    return `<rect x="${left}" y="${top}" width="11" height="11" rx="2" fill="${colour}"/><text x="${left + 17}" y="${top + 10}">${escape(label)}</text>`;
  });
}

function axis(scale: {
  low: number;
  high: number;
  top: number;
  height: number;
  x: (value: number) => number;
}): string[] {
  const lines: string[] = [];
  for (let power = scale.low; power <= scale.high; power += 1) {
    const at = scale.x(10 ** power).toFixed(1);
    const bottom = scale.height - 22;
    lines.push(
      `<line x1="${at}" x2="${at}" y1="${scale.top - 6}" y2="${bottom}" stroke="#7a828e" stroke-opacity="0.3"/>`,
      `<text x="${at}" y="${bottom + 14}" text-anchor="middle">${(10 ** power).toLocaleString("en-GB")}</text>`,
    );
  }
  return lines;
}

function bars(group: Group, series: readonly Series[], top: number, x: (value: number) => number): string[] {
  const middle = top + (series.length * BAR) / 2 + 4;
  const label = `<text x="${LEFT - 12}" y="${middle}" text-anchor="end" font-size="13" font-weight="600">${escape(group.label)}</text>`;
  return [
    label,
    ...series.flatMap(({ colour }, at) => {
      const value = group.values[at];
      if (value === undefined || !(value > 0)) return [];
      const y = top + at * BAR;
      const width = Math.max(1, x(value) - LEFT).toFixed(1);
      const text = Math.round(value).toLocaleString("en-GB");
      return [
        `<rect x="${LEFT}" y="${y}" width="${width}" height="${BAR - 3}" rx="2" fill="${colour}"/>`,
        `<text x="${(x(value) + 6).toFixed(1)}" y="${y + BAR - 5}">${text}</text>`,
      ];
    }),
  ];
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
