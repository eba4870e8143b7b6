import { readFile, writeFile } from "node:fs/promises";
import { simulateMessages } from "../../src/simulator/traffic.ts";
import { encodeBody, encodeItem } from "../../src/simulator/wire.ts";

/**
 * Life-like traffic without end, made quickly: the simulator makes a sample of some thousand events once, and every
 * further event is one of those with other ids, addresses, custom args and a later time. So the benchmark spends its time
 * on sending, and its events still have the sizes, kinds and order that the simulator's have.
 */

/** The next copy of the sample happens so much later. */
export const COPY_SECONDS = 7_200;
const COPIES_MAX = 9_999;
const START_SECONDS = Date.UTC(2026, 0, 1) / 1000;
const MARK_CHARS = 4;

interface Template {
  /** The event's JSON, as it is in copy 0. */
  text: string;
  /** Where the copy's mark stands. */
  marks: number[];
  /** Where the time stands, and its value. */
  timeAt: number;
  seconds: number;
}

export interface Sample {
  /** How many events one copy has. */
  size: number;
  /** The body of a POST with these many events, beginning with event `first`. */
  body(first: number, events: number): Buffer;
}

/** Makes a sample and keeps it in a file. */
export async function writeSample(file: string, events: number): Promise<void> {
  await writeFile(file, JSON.stringify(makeTemplates(events)));
}

export async function loadSample(file: string): Promise<Sample> {
  return createSample(JSON.parse(await readFile(file, "utf8")) as Template[]);
}

/** A sample of its own, without a file. */
export function makeSample(events: number): Sample {
  return createSample(makeTemplates(events));
}

/** The mark of a copy: four digits, in ids, addresses and custom args. The growth scenario writes the same in SQL. */
function copyMark(copy: number): string {
  return String(copy).padStart(MARK_CHARS, "0");
}

/** Simulated events are plain ASCII, so a character is a byte. */
function createSample(templates: readonly Template[]): Sample {
  const items = templates.map(({ text, ...places }) => ({ bytes: Buffer.from(text, "latin1"), ...places }));
  const framing = encodeBody(["", ""]);
  const separator = framing.subarray(1, -3);

  function itemAt(index: number): (typeof items)[number] {
    const item = items[index % items.length];
    if (item === undefined || index >= (COPIES_MAX + 1) * items.length) {
      throw new RangeError(`the sample has no event ${index}`);
    }
    return item;
  }

  return {
    size: items.length,
    body(first, events) {
      let length = framing.length - separator.length + (events - 1) * separator.length;
      for (let index = first; index < first + events; index += 1) length += itemAt(index).bytes.length;
      const body = Buffer.allocUnsafeSlow(length);
      let at = framing.copy(body, 0, 0, 1);
      for (let index = first; index < first + events; index += 1) {
        const { bytes, marks, timeAt, seconds } = itemAt(index);
        const copy = Math.floor(index / items.length);
        bytes.copy(body, at);
        for (const mark of marks) body.write(copyMark(copy), at + mark, "latin1");
        body.write(String(seconds + copy * COPY_SECONDS), at + timeAt, "latin1");
        at += bytes.length;
        if (index < first + events - 1) at += separator.copy(body, at);
      }
      framing.copy(body, at, framing.length - 3);
      return body;
    },
  };
}

function makeTemplates(events: number): Template[] {
  const traffic = { seed: "bench", startSeconds: START_SECONDS, periodSeconds: COPY_SECONDS, events };
  const inOrder: { seconds: number; text: string }[] = [];
  for (const message of simulateMessages({ ...traffic, twins: false, missingIds: false, poison: false })) {
    for (const { wire, atSeconds } of message.events) inOrder.push({ seconds: atSeconds, text: encodeItem(wire) });
  }
  return inOrder.sort((a, b) => a.seconds - b.seconds).map(({ text, seconds }) => makeTemplate(text, seconds));
}

/**
 * Where the mark goes: over the first four characters of ids, into the address's second name, and before customer and
 * order numbers. Each rule's first group stays, its second is what the mark replaces.
 */
const MARKED: readonly RegExp[] = [
  /("sg_event_id":")(.{4})/g,
  /("sg_message_id":")(.{4})/g,
  /("smtp-id":"<)(.{4})/g,
  /("email":"[^"@]*\.)()(?=[^".@]*@)/g,
  /("customer_id":"C-)()/g,
  /("order_id":"SO-)()/g,
];

function makeTemplate(item: string, seconds: number): Template {
  const cuts: { from: number; to: number }[] = [];
  for (const rule of MARKED) {
    for (const { index, 1: kept = "", 2: replaced = "" } of item.matchAll(rule)) {
      const from = index + kept.length;
      cuts.push({ from, to: from + replaced.length });
    }
  }
  cuts.sort((a, b) => a.from - b.from);
  const marks: number[] = [];
  let text = "";
  let end = 0;
  for (const { from, to } of cuts) {
    text += item.slice(end, from);
    marks.push(text.length);
    text += copyMark(0);
    end = to;
  }
  text += item.slice(end);
  const timeKey = '"timestamp":';
  return { text, marks, timeAt: text.indexOf(timeKey) + timeKey.length, seconds };
}
