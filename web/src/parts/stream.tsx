import { Button, NativeSelect, Table } from "@mantine/core";
import { memo, type ReactNode, useRef, useState } from "react";
import { Link } from "wouter";
import type { NumberedEvent } from "../api/live-state.ts";
import type { TextContext } from "../text/context.ts";
import { eventNote } from "../text/event-text.ts";
import { KINDS, kindOf, markOfKind } from "../text/kinds.ts";
import { messagePath } from "../text/message-filters.ts";
import { formatCount } from "../text/number.ts";
import { Foreign, Sentence } from "./foreign.tsx";
import { PauseIcon, PlayIcon } from "./icons.tsx";
import { useLive } from "./live.tsx";
import { State } from "./mark.tsx";
import { LoadingRows, Nothing } from "./states.tsx";
import { Time } from "./time.tsx";
import { useRowLink } from "./use-row-link.ts";
import { type StreamFilter, useStream } from "./use-stream.ts";
import { useText } from "./use-text.ts";

/** Each event as it is filed. */
export function Stream(): ReactNode {
  const text = useText();
  const { t, locale } = text;
  const [filter, setFilter] = useState<StreamFilter>({ kind: "", source: "" });
  const [paused, setPaused] = useState(false);
  const [reading, setReading] = useState(false);
  const list = useRef<HTMLDivElement>(null);
  const { rows, waiting, skipped, freshAfter, letIn } = useStream(filter, paused || reading, list);
  const formatted = formatCount(waiting, locale);
  return (
    <section aria-labelledby="stream">
      <div className="section-head">
        <h2 id="stream">{t("live.stream")}</h2>
        <StreamControls filter={filter} onFilter={setFilter} paused={paused} onPaused={setPaused} />
      </div>
      <div
        ref={list}
        className="stream"
        onPointerEnter={(event) => event.pointerType === "mouse" && setReading(true)}
        onPointerLeave={() => setReading(false)}
        onFocus={() => setReading(true)}
        onBlur={() => setReading(false)}
      >
        {waiting === 0 ? null : (
          <button type="button" className="waiting" onClick={letIn}>
            {t("live.new", { count: waiting, formatted })} ↑
          </button>
        )}
        {rows === undefined ? <LoadingRows /> : null}
        {rows?.length === 0 && waiting === 0 ? (
          <Nothing title={filter.kind === "" && filter.source === "" ? t("live.quiet") : t("live.filtered")} />
        ) : null}
        {rows === undefined || rows.length === 0 ? null : (
          <EventTable rows={rows} freshAfter={freshAfter} text={text} />
        )}
        {skipped === 0 ? null : (
          <p className="muted">{t("live.skipped", { count: skipped, formatted: formatCount(skipped, locale) })}</p>
        )}
      </div>
    </section>
  );
}

const ARROW = {
  rightSection: <span aria-hidden="true">▾</span>,
  rightSectionWidth: 20,
  rightSectionPointerEvents: "none",
} as const;

interface StreamControlsProps {
  filter: StreamFilter;
  onFilter: (filter: StreamFilter) => void;
  paused: boolean;
  onPaused: (paused: boolean) => void;
}

function StreamControls({ filter, onFilter, paused, onPaused }: StreamControlsProps): ReactNode {
  const { t } = useText();
  const sources = useLive((state) => state.status?.sources) ?? [];
  return (
    <div className="controls">
      <NativeSelect
        size="xs"
        variant="unstyled"
        {...ARROW}
        aria-label={t("live.kindLabel")}
        value={filter.kind}
        onChange={(event) =>
          onFilter({ ...filter, kind: KINDS.find((kind) => kind === event.currentTarget.value) ?? "" })
        }
        data={[
          { value: "", label: t("live.allKinds") },
          ...KINDS.map((kind) => ({ value: kind, label: t(`kindFilter.${kind}`) })),
        ]}
      />
      {sources.length < 2 ? null : (
        <NativeSelect
          size="xs"
          variant="unstyled"
          {...ARROW}
          aria-label={t("live.sourceLabel")}
          value={filter.source}
          onChange={(event) => onFilter({ ...filter, source: event.currentTarget.value })}
          data={[{ value: "", label: t("live.allSources") }, ...sources.map((source) => source.name)]}
        />
      )}
      <Button
        variant="subtle"
        color="gray"
        size="compact-sm"
        aria-pressed={paused}
        leftSection={paused ? <PlayIcon /> : <PauseIcon />}
        onClick={() => onPaused(!paused)}
      >
        {paused ? t("live.resume") : t("live.pause")}
      </Button>
    </div>
  );
}

function EventTable({
  rows,
  freshAfter,
  text,
}: {
  rows: readonly NumberedEvent[];
  freshAfter: number;
  text: TextContext;
}): ReactNode {
  const { t } = text;
  return (
    <Table className="ledger events" highlightOnHover>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t("live.time")}</Table.Th>
          <Table.Th>{t("live.event")}</Table.Th>
          <Table.Th>{t("live.recipient")}</Table.Th>
          <Table.Th>{t("live.subject")}</Table.Th>
          <Table.Th className="wide">{t("live.detail")}</Table.Th>
          <Table.Th>{t("live.source")}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((event) => (
          <EventRow
            key={`${event.message} ${event.eventId}`}
            event={event}
            isFresh={event.seq > freshAfter}
            text={text}
          />
        ))}
      </Table.Tbody>
    </Table>
  );
}

interface EventRowProps {
  event: NumberedEvent;
  isFresh: boolean;
  text: TextContext;
}

/** Drawn once and kept: only the rows that come in, and those that were fresh, are drawn when the list moves. */
const EventRow = memo(function EventRow({ event, isFresh, text }: EventRowProps): ReactNode {
  const { t } = text;
  const toRow = useRowLink();
  const kind = kindOf(event.type, event.detail);
  const path = messagePath(event.message);
  return (
    <Table.Tr className={isFresh ? "to-message fresh" : "to-message"} onClick={toRow(path)}>
      <Table.Td className="mono">
        <Time value={event.occurredAt} text={text} as="list" />
      </Table.Td>
      <Table.Td>
        <State mark={markOfKind(kind)}>{t(`kind.${kind}`)}</State>
        {event.twin ? (
          <span className="tag" title={t("event.twinHint")}>
            {t("event.twin")}
          </span>
        ) : null}
      </Table.Td>
      <Table.Td className="recipient">
        <Link href={path}>
          {event.recipient === null || event.recipient === "" ? "–" : <Foreign>{event.recipient}</Foreign>}
        </Link>
      </Table.Td>
      <Table.Td className="subject">{event.subject === null ? "" : <Foreign>{event.subject}</Foreign>}</Table.Td>
      <Table.Td className="wide">
        <Sentence>{eventNote(event, text)}</Sentence>
      </Table.Td>
      <Table.Td className="muted">{event.source}</Table.Td>
    </Table.Tr>
  );
});
