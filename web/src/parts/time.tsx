import type { ReactNode } from "react";
import type { TextContext } from "../text/context.ts";
import { ago, clock, listTime, moment, utc } from "../text/time.ts";

const FORMS = {
  clock: (time: string, text: TextContext) => clock(time, text),
  list: listTime,
  moment,
  ago,
};

/** A time in the reader's zone, in UTC on hover. */
export function Time({ value, text, as }: { value: string; text: TextContext; as: keyof typeof FORMS }): ReactNode {
  return (
    <time dateTime={value} title={utc(value)}>
      {FORMS[as](value, text)}
    </time>
  );
}
