import { type ReactNode, useEffect, useRef, useState } from "react";
import { formatCount } from "../text/number.ts";

const ROLL_MS = 200;

/** A figure that rolls to its next value. It jumps for readers who asked for less motion. */
export function Rolling({ value, locale }: { value: number; locale: string }): ReactNode {
  const [shown, setShown] = useState(value);
  const from = useRef(value);
  useEffect(() => {
    const begin = from.current;
    if (
      begin === value ||
      matchMedia("(prefers-reduced-motion: reduce)").matches ||
      document.visibilityState === "hidden"
    ) {
      from.current = value;
      setShown(value);
      return undefined;
    }
    let frame = 0;
    let startedAt: number | undefined;
    const step = (time: number): void => {
      startedAt ??= time;
      const part = Math.min(1, (time - startedAt) / ROLL_MS);
      from.current = Math.round(begin + (value - begin) * part);
      setShown(from.current);
      if (part < 1) frame = requestAnimationFrame(step);
    };
    frame = requestAnimationFrame(step);
    return () => cancelAnimationFrame(frame);
  }, [value]);
  return formatCount(shown, locale);
}
