import { CsvError, parse } from "csv-parse";
import { CSV_ROW_BYTES_MAX, MESSAGE_ID_CHARS_MAX } from "../limits.ts";
import type { RecordedEvent } from "./record-types.ts";
import { parseArgs, readActivityEvent } from "./recorded-events.ts";
import { readTime } from "./responses.ts";

/** What a row of the CSV export tells. */
export type ActivityRow =
  | { kind: "event"; messageId: string; event: RecordedEvent }
  /** `line` counts from 1, the line that names the columns included. */
  | { kind: "skipped"; line: number; reason: string };

/**
 * The columns that are read, each with the names it goes by: those of the export itself (processed, message_id, event,
 * api_key_id, recv_message_id, credential_id, subject, from, email, asm_group_id, template_id, originating_ip, reason,
 * outbound_ip, outbound_ip_type, mx, url, attempt, user_agent, type, is_unique, username, categories,
 * marketing_campaign_…, unique_args), and those of the API that the export comes from.
 */
const COLUMNS = {
  processed: ["processed"],
  messageId: ["message_id", "msg_id", "sg_message_id"],
  event: ["event", "event_name"],
  email: ["email", "to_email"],
  reason: ["reason"],
  response: ["response", "server_response"],
  attempt: ["attempt", "attempt_num"],
  url: ["url"],
  useragent: ["user_agent", "http_user_agent", "useragent"],
  type: ["type", "bounce_type"],
  outboundIp: ["outbound_ip"],
  categories: ["categories", "category"],
  args: ["unique_args", "custom_args"],
  asmGroupId: ["asm_group_id"],
} as const;
type Column = keyof typeof COLUMNS;

const NEEDED: readonly Column[] = ["processed", "messageId", "event"];

/**
 * Reads the CSV export of SendGrid's Email Activity, row by row and in bounded memory. The columns may stand in any order,
 * and others are ignored. A row that is no event is `skipped`, with the reason; a file without the needed columns is one
 * such row, and so is the place from which a file cannot be read on. Throws only what the source of the chunks throws.
 */
export async function* readActivityCsv(chunks: AsyncIterable<Buffer | string>): AsyncGenerator<ActivityRow> {
  let places: Places | undefined;
  let lines = 0;
  for await (const row of readCsv(chunks)) {
    if (row.kind === "broken") {
      yield { kind: "skipped", line: lines + 1, reason: `the file cannot be read from here on: ${row.reason}` };
      return;
    }
    const line = lines + 1;
    lines = row.lines;
    if (places !== undefined) {
      yield readRow(row.cells, places, line);
      continue;
    }
    places = findColumns(row.cells);
    const missing = NEEDED.filter((column) => places?.[column] === undefined).map((column) => COLUMNS[column][0]);
    if (missing.length === 0) continue;
    const reason = `this is no export of the Email Activity: it has no column ${missing.join(", ")}`;
    yield { kind: "skipped", line, reason };
    return;
  }
  if (places === undefined) yield { kind: "skipped", line: 1, reason: "the file is empty" };
}

/** `lines`: how many lines of the file end with this row. */
type CsvRow = { kind: "row"; cells: string[]; lines: number } | { kind: "broken"; reason: string };

/** Rows are taken from the parser as it finds them: as a stream it would drop those before a fault together with it. */
async function* readCsv(chunks: AsyncIterable<Buffer | string>): AsyncGenerator<CsvRow> {
  let rows: CsvRow[] = [];
  let failure: Error | undefined;
  const parser = parse({
    bom: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: CSV_ROW_BYTES_MAX,
    on_record(cells: string[], { lines }) {
      rows.push({ kind: "row", cells, lines });
      return null;
    },
  });
  parser.on("error", (error) => {
    failure = error;
  });
  parser.resume();
  function* take(): Generator<CsvRow> {
    const taken = rows;
    rows = [];
    yield* taken;
    if (failure !== undefined) yield { kind: "broken", reason: failure instanceof CsvError ? failure.code : "" };
  }
  try {
    for await (const chunk of chunks) {
      await new Promise<void>((resolve) => {
        parser.write(chunk, () => resolve());
      });
      yield* take();
    }
    await new Promise<void>((resolve) => {
      parser.end(() => resolve());
    });
    yield* take();
  } finally {
    parser.destroy();
  }
}

type Places = Partial<Record<Column, number>>;

function findColumns(names: readonly string[]): Places {
  const normal = names.map((name) =>
    name
      .trim()
      .toLowerCase()
      .replaceAll(/[\s-]+/g, "_"),
  );
  const places: Places = {};
  for (const column of Object.keys(COLUMNS) as Column[]) {
    const place = COLUMNS[column].map((name) => normal.indexOf(name)).find((at) => at !== -1);
    if (place !== undefined) places[column] = place;
  }
  return places;
}

function readRow(record: readonly string[], places: Places, line: number): ActivityRow {
  const cell = (column: Column): string | undefined => {
    const place = places[column];
    const text = place === undefined ? undefined : record[place]?.trim();
    return text === "" ? undefined : text;
  };
  const messageId = cell("messageId");
  if (messageId === undefined || messageId.length > MESSAGE_ID_CHARS_MAX)
    return { kind: "skipped", line, reason: "it names no message" };
  const occurredAtMs = readMoment(cell("processed") ?? "");
  if (occurredAtMs === undefined) return { kind: "skipped", line, reason: "it has no time that can be understood" };
  const attempt = Number(cell("attempt") ?? Number.NaN);
  const event = readActivityEvent(
    {
      name: cell("event"),
      occurredAtMs,
      reason: cell("reason"),
      response: cell("response"),
      attempt: Number.isSafeInteger(attempt) ? attempt : undefined,
      bounceType: cell("type"),
      url: cell("url"),
      useragent: cell("useragent"),
      outboundIp: cell("outboundIp"),
    },
    {
      messageId,
      recipient: cell("email"),
      categories: readCategories(cell("categories")),
      args: parseArgs(cell("args")),
      common: { asm_group_id: readGroup(cell("asmGroupId")) },
    },
  );
  if (event === undefined) return { kind: "skipped", line, reason: "it is no event that can be understood" };
  if (event === "other") return { kind: "skipped", line, reason: "the webhook has no event of this kind" };
  return { kind: "event", messageId, event };
}

/** ISO 8601, with a space for the T and UTC for the Z too; or Unix seconds or milliseconds. */
function readMoment(text: string): number | undefined {
  if (/^\d{10}$/.test(text)) return Number(text) * 1000;
  if (/^\d{13}$/.test(text)) return Number(text);
  return readTime(text.replace(/ ?(?:\+0000 )?UTC$/, "Z"))?.getTime();
}

/** A list as JSON, or one name. */
function readCategories(text: string | undefined): unknown {
  if (text === undefined || !text.startsWith("[")) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function readGroup(text: string | undefined): number | undefined {
  const group = Number(text ?? Number.NaN);
  return Number.isSafeInteger(group) && group > 0 ? group : undefined;
}
