import { Table } from "@mantine/core";
import type { ReactNode } from "react";
import { Link } from "wouter";
import type { MessageSummary } from "../../../src/views/contract.ts";
import type { Column } from "../text/columns.ts";
import type { TextContext } from "../text/context.ts";
import { line } from "../text/hostile.ts";
import { messagePath } from "../text/message-filters.ts";
import { formatCount } from "../text/number.ts";
import { Foreign } from "./foreign.tsx";
import { DeliveryState, Facts } from "./message-facts.tsx";
import { Time } from "./time.tsx";
import { useRowLink } from "./use-row-link.ts";

export function columnName(column: Column, { t }: TextContext): string {
  const names: Readonly<Record<Column, string>> = {
    time: t("messages.time"),
    first: t("columns.first"),
    state: t("messages.state"),
    subject: t("messages.subject"),
    about: t("messages.about"),
    category: t("messages.category"),
    opened: t("messages.opened"),
    clicked: t("messages.clicked"),
    source: t("message.source"),
    id: t("message.id"),
  };
  return names[column];
}

/** How often it was opened; a mail program's opens in brackets, since perhaps no person saw the mail. */
function opens(message: MessageSummary, { t, locale }: TextContext): ReactNode {
  if (message.opens > 0) return formatCount(message.opens, locale);
  if (message.machineOpens === 0) return null;
  return (
    <span className="muted" title={t("messages.machine")}>
      ({formatCount(message.machineOpens, locale)})
    </span>
  );
}

interface ColumnView {
  /** Class of the cells and of the head: how they are aligned, and where they stand on a phone. */
  className: string;
  cell: (message: MessageSummary, text: TextContext) => ReactNode;
}

const time = (value: string | null, text: TextContext): ReactNode =>
  value === null ? null : <Time value={value} text={text} as="list" />;

const VIEWS: Readonly<Record<Column, ColumnView>> = {
  time: { className: "mono", cell: (message, text) => time(message.lastEventAt ?? message.firstEventAt, text) },
  first: { className: "mono first", cell: (message, text) => time(message.firstEventAt, text) },
  state: { className: "states", cell: (message) => <DeliveryState message={message} /> },
  subject: {
    className: "subject",
    cell: ({ subject }) => (subject === null ? <span className="muted">–</span> : <Foreign>{subject}</Foreign>),
  },
  about: { className: "wide", cell: (message) => <Facts message={message} /> },
  category: {
    className: "category",
    cell: ({ categories }) => (categories.length === 0 ? null : <bdi>{line(categories.join(", "))}</bdi>),
  },
  opened: { className: "number", cell: opens },
  clicked: {
    className: "number",
    cell: ({ clicks }, { locale }) => (clicks === 0 ? null : formatCount(clicks, locale)),
  },
  source: { className: "muted", cell: ({ source }) => source },
  id: { className: "message-id", cell: ({ id }) => <bdi>{line(id)}</bdi> },
};

/** Where the recipient stands: after the times and the state. */
const BEFORE_RECIPIENT: ReadonlySet<Column> = new Set(["time", "first", "state"]);

export interface MessageTableProps {
  messages: readonly MessageSummary[];
  columns: readonly Column[];
  text: TextContext;
  /** What was asked for is still on its way; these are the rows of before. */
  isOld?: boolean;
}

/** Mails as a list, each row one mail. */
export function MessageTable({ messages, columns, text, isOld = false }: MessageTableProps): ReactNode {
  const before = columns.filter((column) => BEFORE_RECIPIENT.has(column));
  const after = columns.filter((column) => !BEFORE_RECIPIENT.has(column));
  return (
    <Table className={`ledger messages ${isOld ? "old" : ""}`} highlightOnHover aria-busy={isOld}>
      <Table.Thead>
        <Table.Tr>
          <Heads columns={before} text={text} />
          <Table.Th>{text.t("messages.recipient")}</Table.Th>
          <Heads columns={after} text={text} />
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {messages.map((message) => (
          <MessageRow key={message.id} message={message} before={before} after={after} text={text} />
        ))}
      </Table.Tbody>
    </Table>
  );
}

function Heads({ columns, text }: { columns: readonly Column[]; text: TextContext }): ReactNode {
  return columns.map((column) => (
    <Table.Th key={column} className={VIEWS[column].className === "number" ? "number" : ""}>
      {columnName(column, text)}
    </Table.Th>
  ));
}

interface MessageRowProps {
  message: MessageSummary;
  before: readonly Column[];
  after: readonly Column[];
  text: TextContext;
}

function MessageRow({ message, before, after, text }: MessageRowProps): ReactNode {
  const toRow = useRowLink();
  const path = messagePath(message.id);
  return (
    <Table.Tr className="to-message" onClick={toRow(path)}>
      <Cells columns={before} message={message} text={text} />
      <Table.Td className="recipient">
        <Link href={path}>
          {message.recipient === null || message.recipient === "" ? message.id : <Foreign>{message.recipient}</Foreign>}
        </Link>
      </Table.Td>
      <Cells columns={after} message={message} text={text} />
    </Table.Tr>
  );
}

function Cells({
  columns,
  message,
  text,
}: {
  columns: readonly Column[];
  message: MessageSummary;
  text: TextContext;
}): ReactNode {
  return columns.map((column) => (
    <Table.Td key={column} className={VIEWS[column].className} data-label={columnName(column, text)}>
      {VIEWS[column].cell(message, text)}
    </Table.Td>
  ));
}
