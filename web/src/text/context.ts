import type { TFunction } from "i18next";

/** What a sentence needs besides its facts. */
export interface TextContext {
  t: TFunction;
  /** A BCP 47 tag for dates and numbers. */
  locale: string;
  /** An IANA zone; undefined is the reader's own. */
  timeZone: string | undefined;
  /** The present, as milliseconds since 1970. */
  now: number;
}
