import type { ReactNode } from "react";
import { line, splitIsolated } from "../text/hostile.ts";

/** A short text from outside: one line, its direction kept to itself. */
export function Foreign({ children }: { children: string }): ReactNode {
  return <bdi>{line(children)}</bdi>;
}

/** A sentence with foreign parts in it (see text/hostile.ts). */
export function Sentence({ children }: { children: string }): ReactNode {
  return splitIsolated(children).map((part) =>
    part.foreign ? <bdi key={part.at}>{part.text}</bdi> : <span key={part.at}>{part.text}</span>,
  );
}
