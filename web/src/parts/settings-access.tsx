import { Button, NativeSelect, Table, TextInput } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link, useLocation } from "wouter";
import { useSearch } from "wouter/use-browser-location";
import type { Access, AccessLog } from "../../../src/views/contract-settings.ts";
import { api } from "../api/client.ts";
import { en } from "../i18n/en.ts";
import { accessSubject } from "../text/access-text.ts";
import { Foreign } from "./foreign.tsx";
import { Loaded, Nothing } from "./states.tsx";
import { Time } from "./time.tsx";
import { useText } from "./use-text.ts";

type Action = keyof typeof en.access.actions;
const ACTIONS = Object.keys(en.access.actions) as Action[];

interface Filter {
  name: string;
  action: string;
  subject: string;
}

const FIELDS = ["name", "action", "subject"] as const;

function readFilter(search: string): Filter {
  const query = new URLSearchParams(search);
  return { name: query.get("name") ?? "", action: query.get("action") ?? "", subject: query.get("subject") ?? "" };
}

function toQuery(filter: Filter): URLSearchParams {
  return new URLSearchParams(FIELDS.map((field) => [field, filter[field]]).filter(([, value]) => value !== ""));
}

/** Who has looked at what. The address holds the filter, so that it can be passed on. */
export function SettingsAccess(): ReactNode {
  const { t } = useText();
  const filter = readFilter(useSearch());
  const asked = toQuery(filter).toString();
  const list = useInfiniteQuery({
    queryKey: ["access", asked],
    queryFn: ({ pageParam, signal }) => {
      const query = toQuery(filter);
      if (pageParam !== "") query.set("cursor", pageParam);
      return api<AccessLog>("GET", `/api/access-log?${query.toString()}`, { signal });
    },
    initialPageParam: "",
    getNextPageParam: (page) => page.nextCursor,
  });
  return (
    <>
      <p className="lead">{t("access.lead")}</p>
      <FilterBar key={asked} filter={filter} />
      <Loaded data={list.data} error={list.error} again={() => void list.refetch()}>
        {({ pages }) => <Rows rows={pages.flatMap((page) => page.rows)} />}
      </Loaded>
      {list.hasNextPage ? (
        <Button variant="default" mt={16} loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          {t("access.more")}
        </Button>
      ) : null}
    </>
  );
}

function FilterBar({ filter }: { filter: Filter }): ReactNode {
  const { t } = useText();
  const [, navigate] = useLocation();
  const [draft, setDraft] = useState(filter);
  const ask = (change: Partial<Filter> = {}): void => {
    const query = toQuery({ ...draft, name: draft.name.trim(), subject: draft.subject.trim(), ...change }).toString();
    navigate(`/settings/access${query === "" ? "" : `?${query}`}`);
  };
  return (
    <form
      className="filters"
      onSubmit={(event) => {
        event.preventDefault();
        ask();
      }}
    >
      <NativeSelect
        size="xs"
        aria-label={t("access.actionLabel")}
        value={draft.action}
        onChange={(event) => ask({ action: event.currentTarget.value })}
        data={[
          { value: "", label: t("access.anyAction") },
          ...ACTIONS.map((value) => ({ value, label: t(`access.actions.${value}`) })),
        ]}
      />
      <TextInput
        size="xs"
        aria-label={t("access.nameLabel")}
        placeholder={t("access.namePlaceholder")}
        value={draft.name}
        maxLength={100}
        onChange={(event) => setDraft({ ...draft, name: event.currentTarget.value })}
        onBlur={() => draft.name.trim() !== filter.name && ask()}
      />
      <TextInput
        size="xs"
        className="wide"
        aria-label={t("access.subjectLabel")}
        placeholder={t("access.subjectPlaceholder")}
        value={draft.subject}
        maxLength={500}
        onChange={(event) => setDraft({ ...draft, subject: event.currentTarget.value })}
        onBlur={() => draft.subject.trim() !== filter.subject && ask()}
      />
      {/* Several fields submit by Enter only where there is a button to press. */}
      <button type="submit" hidden>
        {t("access.apply")}
      </button>
    </form>
  );
}

function Rows({ rows }: { rows: readonly Access[] }): ReactNode {
  const text = useText();
  const { t } = text;
  if (rows.length === 0) {
    return (
      <Nothing title={t("access.none")}>
        <p>{t("access.noneHint")}</p>
      </Nothing>
    );
  }
  return (
    <Table className="ledger cards">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t("access.at")}</Table.Th>
          <Table.Th>{t("access.name")}</Table.Th>
          <Table.Th>{t("access.action")}</Table.Th>
          <Table.Th>{t("access.subject")}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((row) => (
          <Table.Tr key={row.id}>
            <Table.Td>
              <Time value={row.at} text={text} as="list" />
            </Table.Td>
            <Table.Td className="name">
              <Foreign>{row.name}</Foreign> <span className="muted">({t(`settings.roles.${row.role}`)})</span>
            </Table.Td>
            <Table.Td>{isAction(row.action) ? t(`access.actions.${row.action}`) : row.action}</Table.Td>
            <Table.Td className="wide mono-text">
              {row.subject === null ? null : <Subject action={row.action} subject={row.subject} />}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

function Subject({ action, subject }: { action: string; subject: string }): ReactNode {
  const shown = <Foreign>{accessSubject(action, subject)}</Foreign>;
  return action === "message.view" || action === "message.enrich" ? (
    <Link href={`/messages/${encodeURIComponent(subject)}`}>{shown}</Link>
  ) : (
    shown
  );
}

function isAction(text: string): text is Action {
  return ACTIONS.some((action) => action === text);
}
