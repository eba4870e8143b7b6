/**
 * Text from outside: recipients, subjects, mail servers' words, custom args. All of it is written by strangers, so it
 * may hold control characters, marks that turn the writing direction, and megabytes. React already shows HTML as text.
 */

const FIRST_STRONG_ISOLATE = "\u2068";
const POP_DIRECTIONAL_ISOLATE = "\u2069";

/** Characters one line of a page shows at most; the rest is only counted. */
const LINE_CHARS_MAX = 400;
/** Characters a quoted block shows at most. */
export const QUOTE_CHARS_MAX = 4_000;

// C0 and C1 controls except tab and newline; bidi overrides, embeddings and isolates; zero-width space, byte order mark,
// and the tag characters that can hide a whole message. Joiners stay: Persian and emoji need them.
const HIDDEN =
  // oxlint-disable-next-line no-control-regex -- Finding control characters is the purpose.
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u202a-\u202e\u2066-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/gu;

/** The text with every hidden or direction-changing character written out, such as [U+202E]. CRLF becomes a newline. */
export function visible(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(HIDDEN, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `[U+${code.toString(16).toUpperCase().padStart(4, "0")}]`;
  });
}

/** The beginning of a text, whole characters only, and how many characters (UTF-16 units) were left out. */
export function clip(text: string, charsMax: number): { text: string; leftOut: number } {
  if (text.length <= charsMax) return { text, leftOut: 0 };
  const cut = text.slice(0, charsMax).replace(/[\ud800-\udbff]$/, "");
  return { text: cut, leftOut: text.length - cut.length };
}

/** One line of foreign text: visible, clipped, with an ellipsis where something was left out. */
export function line(text: string, charsMax = LINE_CHARS_MAX): string {
  const clipped = clip(text, charsMax);
  return visible(clipped.text).replaceAll(/\s+/g, " ").trim() + (clipped.leftOut > 0 ? "…" : "");
}

/** Foreign text to be put into a sentence: it cannot change the direction of the words around it. */
export function isolate(text: string): string {
  return FIRST_STRONG_ISOLATE + line(text) + POP_DIRECTIONAL_ISOLATE;
}

export interface SentencePart {
  text: string;
  foreign: boolean;
  /** Where it begins in the sentence. */
  at: number;
}

/** Takes a sentence apart again, so that a page can use <bdi> and a copied address holds no invisible marks. */
export function splitIsolated(sentence: string): SentencePart[] {
  const parts: SentencePart[] = [];
  let at = 0;
  for (const part of sentence.split(/(\u2068[^\u2069]*\u2069)/)) {
    const foreign = part.startsWith(FIRST_STRONG_ISOLATE);
    if (part !== "") parts.push({ text: foreign ? part.slice(1, -1) : part, foreign, at });
    at += part.length;
  }
  return parts;
}

/** The sentence without the marks, for a window's title and for tests. */
export function plain(sentence: string): string {
  return splitIsolated(sentence)
    .map((part) => part.text)
    .join("");
}
