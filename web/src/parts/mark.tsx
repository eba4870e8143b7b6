import type { ReactNode } from "react";
import type { Mark, Shape } from "../text/kinds.ts";

const SHAPES: Readonly<Record<Shape, ReactNode>> = {
  full: <circle cx="5" cy="5" r="4.5" fill="currentColor" />,
  ring: <circle cx="5" cy="5" r="3.7" fill="none" stroke="currentColor" strokeWidth="1.6" />,
  half: (
    <>
      <circle cx="5" cy="5" r="4" fill="none" stroke="currentColor" strokeWidth="1.4" />
      <path d="M5 1a4 4 0 0 1 0 8z" fill="currentColor" />
    </>
  ),
  quarter: (
    <>
      <circle cx="5" cy="5" r="4" fill="none" stroke="currentColor" strokeWidth="1.4" />
      <path d="M5 5V1a4 4 0 0 1 4 4z" fill="currentColor" />
    </>
  ),
  triangle: <path d="M5 .6 9.7 9.2H.3z" fill="currentColor" />,
  square: <path d="M1 1h8v8H1z" fill="currentColor" />,
  minus: <path d="M1 4h8v2H1z" fill="currentColor" />,
};

/** The sign of a state. It never stands without its word, so it says nothing to a screen reader. */
export function Sign({ mark }: { mark: Mark }): ReactNode {
  return (
    <svg className={`sign ${mark.tone}`} viewBox="0 0 10 10" aria-hidden="true">
      {SHAPES[mark.shape]}
    </svg>
  );
}

/** Sign and word. */
export function State({ mark, children }: { mark: Mark; children: ReactNode }): ReactNode {
  return (
    <span className={`state ${mark.tone}`}>
      <Sign mark={mark} />
      <span>{children}</span>
    </span>
  );
}
