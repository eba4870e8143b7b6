import { setImmediate as turn } from "node:timers/promises";
import { DICTIONARY_LEARNT_CHARS_MAX, DICTIONARY_RECIPIENTS_MIN } from "../limits.ts";

/** An event as it was posted. */
export interface SampleEvent {
  recipient: string;
  text: string;
}

/** Shorter pieces than this are hardly worth a match. In characters. */
const GRAM = 8;
/** A piece that saves less over the whole sample is left out: the sample's grams in it, counted. */
const SCORE_MIN = 60;

/**
 * What many events say alike, for a dictionary of zstd: the pieces that save most, the best last, since near matches are written
 * shorter. The ledger's own names of templates, categories, custom args, servers and links are in them.
 *
 * Invariant: any eight characters in a row of a piece come in events to DICTIONARY_RECIPIENTS_MIN recipients or more, since a
 * dictionary stays for as long as the ledger: what only a few people's mail says is no part of it. Test: learn-dictionary.test.ts.
 *
 * It lets others have their turn after about a millisecond's work, since it runs beside the intake.
 */
export async function learnPieces(events: readonly SampleEvent[]): Promise<string[]> {
  const { texts, grams, counts, isTaken } = await readGrams(events);
  const pieces: string[] = [];
  for (let room = DICTIONARY_LEARNT_CHARS_MAX; room >= GRAM;) {
    const best = findBest(grams, counts, isTaken);
    if (best.score < SCORE_MIN) break;
    const piece = (texts[best.event] ?? "").slice(best.start, Math.min(best.end - 1 + GRAM, best.start + room));
    for (const gram of grams[best.event]?.subarray(best.start, best.end) ?? []) isTaken[gram] = 1;
    pieces.push(piece);
    room -= piece.length;
    await turn();
  }
  return pieces.reverse();
}

interface Grams {
  texts: readonly string[];
  /** The number of the gram at each place of each text. */
  grams: readonly Int32Array[];
  /** By gram: how often it comes. */
  counts: readonly number[];
  /** By gram: 1 when it is in a piece, or in the mail of too few. */
  isTaken: Uint8Array;
}

async function readGrams(events: readonly SampleEvent[]): Promise<Grams> {
  const numbers = new Map<string, number>();
  const counts: number[] = [];
  const recipients: number[] = [];
  const lastRecipient: number[] = [];
  const grams: Int32Array[] = [];
  const texts: string[] = [];
  const byRecipient = Map.groupBy(events, ({ recipient }) => recipient.toLowerCase());
  for (const [recipient, own] of [...byRecipient.values()].entries()) {
    for (const { text } of own) {
      const places = new Int32Array(Math.max(0, text.length - GRAM + 1));
      for (let at = 0; at < places.length; at += 1) {
        const gram = text.slice(at, at + GRAM);
        const number = numbers.get(gram) ?? numbers.size;
        numbers.set(gram, number);
        counts[number] = (counts[number] ?? 0) + 1;
        if (lastRecipient[number] !== recipient) recipients[number] = (recipients[number] ?? 0) + 1;
        lastRecipient[number] = recipient;
        places[at] = number;
      }
      texts.push(text);
      grams.push(places);
      await turn();
    }
  }
  const isTaken = Uint8Array.from(recipients, (count) => (count < DICTIONARY_RECIPIENTS_MIN ? 1 : 0));
  return { texts, grams, counts, isTaken };
}

interface Piece {
  score: number;
  event: number;
  start: number;
  end: number;
}

/** The run of grams, none of them taken, that come most often in all. */
function findBest(grams: readonly Int32Array[], counts: readonly number[], isTaken: Uint8Array): Piece {
  let best: Piece = { score: 0, event: 0, start: 0, end: 0 };
  for (const [event, places] of grams.entries()) {
    let score = 0;
    let start = 0;
    for (let at = 0; at <= places.length; at += 1) {
      const gram = places[at];
      if (gram !== undefined && isTaken[gram] === 0) {
        if (score === 0) start = at;
        score += counts[gram] ?? 0;
        continue;
      }
      if (score > best.score) best = { score, event, start, end: at };
      score = 0;
    }
  }
  return best;
}
