import { CloseButton, NativeSelect, TextInput } from "@mantine/core";
import type { ReactNode } from "react";
import { Link, useLocation } from "wouter";
import {
  isNarrowed,
  KIND_FILTERS,
  type MessageFilters,
  messagesPath,
  PERIODS,
  recipientPath,
  STATE_FILTERS,
  type StateFilter,
} from "../text/message-filters.ts";
import { Foreign } from "./foreign.tsx";
import { useLive } from "./live.tsx";
import { useFollowing } from "./use-following.ts";
import { useText } from "./use-text.ts";

interface MessageFilterBarProps {
  filters: MessageFilters;
  /** What is done with the list, at the other end. */
  children: ReactNode;
}

/** The filters beside the search. Every change is a new address. */
export function MessageFilterBar({ filters, children }: MessageFilterBarProps): ReactNode {
  const { t } = useText();
  const [, navigate] = useLocation();
  const change = (part: Partial<MessageFilters>): void => navigate(messagesPath({ ...filters, ...part }));
  const isSet = isNarrowed({ ...filters, q: "" });
  return (
    <div className="filters">
      <Choices filters={filters} change={change} />
      <CategoryFilter filters={filters} change={change} />
      {filters.recipient === "" ? null : (
        <Link className="chip" href={recipientPath(filters.recipient)}>
          <Foreign>{filters.recipient}</Foreign>
        </Link>
      )}
      {isSet ? (
        <Link href={messagesPath({ q: filters.q, columns: filters.columns })}>{t("messages.clearFilters")}</Link>
      ) : null}
      <div className="list-tools">{children}</div>
    </div>
  );
}

interface FilterProps {
  filters: MessageFilters;
  change: (part: Partial<MessageFilters>) => void;
}

function Choices({ filters, change }: FilterProps): ReactNode {
  const { t } = useText();
  const names = useStateNames();
  return (
    <>
      <NativeSelect
        size="xs"
        aria-label={t("messages.stateLabel")}
        value={filters.state}
        onChange={(event) =>
          change({ state: STATE_FILTERS.find((state) => state === event.currentTarget.value) ?? "" })
        }
        data={[
          { value: "", label: t("messages.anyState") },
          ...STATE_FILTERS.map((value) => ({ value, label: names[value] })),
        ]}
      />
      <NativeSelect
        size="xs"
        aria-label={t("filter.kindLabel")}
        value={filters.kind}
        onChange={(event) => change({ kind: KIND_FILTERS.find((kind) => kind === event.currentTarget.value) ?? "" })}
        data={[
          { value: "", label: t("filter.anyKind") },
          ...KIND_FILTERS.map((value) => ({ value, label: t(`kindFilter.${value}`) })),
        ]}
      />
      <SourceFilter filters={filters} change={change} />
      <NativeSelect
        size="xs"
        aria-label={t("messages.timeLabel")}
        value={filters.period}
        onChange={(event) => change({ period: PERIODS.find((period) => period === event.currentTarget.value) ?? "" })}
        data={[
          { value: "", label: t("messages.anyTime") },
          ...PERIODS.map((value) => ({ value, label: t(`messages.${value}`) })),
        ]}
      />
    </>
  );
}

/**
 * A source that an address names stays a choice, also when it is none of ours: else the filter could not be seen. The choice is
 * there before the live state says which sources there are, and where there is only one: coming later, it would move what a
 * person is about to click.
 */
function SourceFilter({ filters, change }: FilterProps): ReactNode {
  const { t } = useText();
  const sources = useLive((state) => state.status?.sources) ?? [];
  const names = new Set([...sources.map(({ name }) => name), ...(filters.source === "" ? [] : [filters.source])]);
  return (
    <NativeSelect
      size="xs"
      aria-label={t("live.sourceLabel")}
      value={filters.source}
      onChange={(event) => change({ source: event.currentTarget.value })}
      data={[{ value: "", label: t("live.allSources") }, ...names]}
    />
  );
}

function CategoryFilter({ filters, change }: FilterProps): ReactNode {
  const { t } = useText();
  const [category, setCategory] = useFollowing(filters.category);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        change({ category: category.trim() });
      }}
    >
      <TextInput
        size="xs"
        aria-label={t("messages.categoryLabel")}
        placeholder={t("messages.category")}
        value={category}
        maxLength={255}
        onChange={(event) => setCategory(event.currentTarget.value)}
        onBlur={() => category.trim() !== filters.category && change({ category: category.trim() })}
        rightSection={
          filters.category === "" ? null : (
            <CloseButton size="xs" aria-label={t("messages.clearFilters")} onClick={() => change({ category: "" })} />
          )
        }
      />
    </form>
  );
}

function useStateNames(): Readonly<Record<StateFilter, string>> {
  const { t } = useText();
  return {
    delivered: t("delivery.delivered"),
    processed: t("delivery.processed"),
    deferred: t("delivery.deferred"),
    failed: t("delivery.filterFailed"),
    bounced: t("delivery.filterBounced"),
    blocked: t("delivery.filterBlocked"),
    dropped: t("delivery.filterDropped"),
    opened: t("kind.open"),
    clicked: t("kind.click"),
    complaint: t("delivery.complaint"),
    unsubscribed: t("delivery.unsubscribed"),
    unknown: t("delivery.unknown"),
  };
}
