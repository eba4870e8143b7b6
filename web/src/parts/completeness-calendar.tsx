import { type KeyboardEvent, type ReactNode, useRef, useState } from "react";
import { Link } from "wouter";
import { type Cell, cellLabel, DAY_MARKS, monthsOf, type Month, STATES, walk } from "../text/completeness.ts";
import type { TextContext } from "../text/context.ts";
import { Sign } from "./mark.tsx";
import { useText } from "./use-text.ts";

interface CalendarProps {
  year: number;
  /** In the account's zone. */
  today: string;
  cells: ReadonlyMap<string, Cell>;
}

/** Any week that begins on a Monday. */
const WEEK = monthsOf(2024)[0]?.days.slice(0, 7) ?? [];

const UNCHECKED = { state: "unchecked", final: true, missing: 0, repaired: 0, open: 0 } as const;

/** Twelve months of days. One of them is in the order of Tab; from it the arrow keys walk. */
export function Calendar({ year, today, cells }: CalendarProps): ReactNode {
  const text = useText();
  const first = `${year}-01-01`;
  const last = `${year}-12-31` < today ? `${year}-12-31` : today;
  const [walked, setWalked] = useState<string>();
  const grid = useRef<HTMLDivElement>(null);
  const here = walked !== undefined && walked >= first && walked <= last ? walked : last;
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const next = walk(here, event.key, { first, last });
    if (next === undefined) return;
    event.preventDefault();
    setWalked(next);
    grid.current?.querySelector<HTMLElement>(`[data-day="${next}"]`)?.focus();
  };
  return (
    <section aria-label={String(year)}>
      <div className="calendar" ref={grid}>
        {monthsOf(year).map((month) => (
          <MonthOfDays
            key={month.id}
            month={month}
            here={here}
            today={today}
            cells={cells}
            onFocus={setWalked}
            onKeyDown={onKeyDown}
            text={text}
          />
        ))}
      </div>
      <Legend text={text} />
    </section>
  );
}

interface MonthProps {
  month: Month;
  here: string;
  today: string;
  cells: ReadonlyMap<string, Cell>;
  onFocus: (day: string) => void;
  onKeyDown: (event: KeyboardEvent) => void;
  text: TextContext;
}

function MonthOfDays({ month, here, today, cells, onFocus, onKeyDown, text }: MonthProps): ReactNode {
  const { locale } = text;
  const begin = new Date(`${month.id}-01T00:00:00Z`);
  const name = new Intl.DateTimeFormat(locale, { month: "long", timeZone: "UTC" }).format(begin);
  const weekday = new Intl.DateTimeFormat(locale, { weekday: "narrow", timeZone: "UTC" });
  return (
    <div className={month.id > today ? "month to-come" : "month"}>
      <h2>{name}</h2>
      <div className="weekdays" aria-hidden="true">
        {WEEK.map((day) => (
          <span key={day}>{weekday.format(new Date(day))}</span>
        ))}
      </div>
      <ol aria-label={name}>
        {month.days.map((day, index) => {
          const cell = cells.get(day) ?? { ...UNCHECKED, day };
          return (
            <li key={day} style={index === 0 ? { gridColumnStart: month.offset + 1 } : undefined}>
              {day > today ? (
                <span className="cell future">{index + 1}</span>
              ) : (
                <Link
                  href={`/completeness/${day}`}
                  className={`cell ${cell.state}${cell.final ? "" : " open-end"}${day === today ? " today" : ""}`}
                  aria-label={cellLabel(cell, today, text)}
                  title={cellLabel(cell, today, text)}
                  aria-current={day === today ? "date" : undefined}
                  data-day={day}
                  tabIndex={day === here ? 0 : -1}
                  onFocus={() => onFocus(day)}
                  onKeyDown={onKeyDown}
                >
                  {index + 1}
                  <CellSign state={cell.state} />
                </Link>
              )}
            </li>
          );
        })}
      </ol>
    </div>
  );
}

/** What is fine is quiet: only the others have a sign of their own. */
function CellSign({ state }: { state: Cell["state"] }): ReactNode {
  return state === "equal" || state === "unchecked" ? null : <Sign mark={DAY_MARKS[state]} />;
}

function Legend({ text: { t } }: { text: TextContext }): ReactNode {
  return (
    <div className="calendar-foot">
      <ul className="calendar-legend" aria-label={t("completeness.legend")}>
        {STATES.map((state) => (
          <li key={state}>
            <span className={`cell ${state} sample`} aria-hidden="true">
              <CellSign state={state} />
            </span>{" "}
            {t(`completeness.states.${state}`)}
          </li>
        ))}
        <li title={t("completeness.notFinalHint")}>
          <span className="cell equal open-end sample" aria-hidden="true" /> {t("completeness.notFinal")}
        </li>
      </ul>
      <p className="muted small walk-hint">{t("completeness.walk")}</p>
    </div>
  );
}
