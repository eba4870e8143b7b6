import { Button, Table, TextInput } from "@mantine/core";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useId, useState } from "react";
import type {
  ReconciliationList,
  ReconciliationOrder,
  ReconciliationRun,
} from "../../../src/views/contract-completeness.ts";
import type { Ordered } from "../../../src/views/contract.ts";
import { api } from "../api/client.ts";
import { addDays, longDay } from "../text/completeness.ts";
import { formatCount } from "../text/number.ts";
import { Foreign } from "./foreign.tsx";
import { State } from "./mark.tsx";
import { Failure, Loaded } from "./states.tsx";
import { Time } from "./time.tsx";
import { useText } from "./use-text.ts";

interface ChecksProps {
  /** In the account's zone. */
  today: string;
  mayOrder: boolean;
}

const BUSY_MS = 2_000;
const IDLE_MS = 20_000;
const RUNS_SHOWN = "10";

function isBusy({ orders, runs }: ReconciliationList): boolean {
  return orders.length > 0 || runs.some(({ state }) => state === "running");
}

/** To order a check, and what became of those before. */
export function Checks({ today, mayOrder }: ChecksProps): ReactNode {
  const { t } = useText();
  const client = useQueryClient();
  const list = useInfiniteQuery({
    queryKey: ["reconciliations"],
    queryFn: ({ pageParam, signal }) => {
      const query = new URLSearchParams({ limit: RUNS_SHOWN, ...(pageParam === "" ? {} : { cursor: pageParam }) });
      return api<ReconciliationList>("GET", `/api/reconciliations?${query.toString()}`, { signal });
    },
    initialPageParam: "",
    getNextPageParam: (page) => page.nextCursor,
    refetchInterval: ({ state: { data } }) =>
      data?.pages[0] !== undefined && isBusy(data.pages[0]) ? BUSY_MS : IDLE_MS,
  });
  const [first] = list.data?.pages ?? [];
  const runs = list.data?.pages.flatMap((page) => page.runs) ?? [];
  const finished = runs.find(({ state }) => state !== "running")?.id;
  // The calendar shows what a run has found as soon as it ends.
  useEffect(() => {
    if (finished !== undefined) void client.invalidateQueries({ queryKey: ["completeness"] });
  }, [client, finished]);
  return (
    <section className="checks" aria-labelledby="checks">
      <h2 id="checks">{t("completeness.check.title")}</h2>
      {mayOrder ? (
        <CheckForm today={today} onOrdered={() => void client.invalidateQueries({ queryKey: ["reconciliations"] })} />
      ) : (
        <NoCheckForm />
      )}
      <Loaded data={first} error={list.error} again={() => void list.refetch()} rows={3}>
        {({ orders }) =>
          orders.length + runs.length === 0 ? (
            <p className="muted small">{t("completeness.check.none")}</p>
          ) : (
            <Runs orders={orders} runs={runs} />
          )
        }
      </Loaded>
      {list.hasNextPage ? (
        <Button
          variant="default"
          size="compact-sm"
          mt={12}
          loading={list.isFetchingNextPage}
          onClick={() => void list.fetchNextPage()}
        >
          {t("completeness.check.more")}
        </Button>
      ) : null}
    </section>
  );
}

/** The server's own bound; it says no to anything else whatever the page does. */
const DAYS_MAX = 92;

function isAllowed({ from, to }: ReconciliationOrder, today: string): boolean {
  const isDay = (text: string): boolean => /^2\d{3}-\d\d-\d\d$/.test(text);
  return isDay(from) && isDay(to) && from <= to && to <= today && addDays(from, DAYS_MAX - 1) >= to;
}

interface CheckFormProps {
  today: string;
  onOrdered: () => void;
}

function NoCheckForm(): ReactNode {
  const { t } = useText();
  return (
    <div className="line-form">
      <Button variant="default" size="sm" data-disabled aria-disabled>
        {t("completeness.check.now")}
      </Button>
      <span className="muted small">{t("completeness.check.forbidden")}</span>
    </div>
  );
}

function CheckForm({ today, onOrdered }: CheckFormProps): ReactNode {
  const text = useText();
  const { t } = text;
  const id = useId();
  const yesterday = addDays(today, -1);
  const [draft, setDraft] = useState<ReconciliationOrder>({ from: yesterday, to: yesterday, repair: false });
  const order = useMutation({
    mutationFn: () => api<Ordered>("POST", "/api/reconciliations", { body: draft }),
    onSuccess: onOrdered,
  });
  const allowed = isAllowed(draft, today);
  const change = (part: Partial<ReconciliationOrder>): void => {
    setDraft({ ...draft, ...part });
    order.reset();
  };
  const day = (name: "from" | "to"): ReactNode => (
    <TextInput
      type="date"
      size="sm"
      label={t(`completeness.check.${name}`)}
      max={today}
      value={draft[name]}
      onChange={(event) => change({ [name]: event.currentTarget.value })}
    />
  );
  return (
    <form
      className="line-form"
      aria-label={t("completeness.check.now")}
      onSubmit={(event) => {
        event.preventDefault();
        if (allowed) order.mutate();
      }}
    >
      {day("from")}
      {day("to")}
      <div className="check">
        <input
          type="checkbox"
          id={id}
          checked={draft.repair}
          onChange={(event) => change({ repair: event.currentTarget.checked })}
        />
        <label htmlFor={id}>
          {t("completeness.check.repair")} <span className="muted">{t("completeness.check.repairHint")}</span>
        </label>
      </div>
      <Button type="submit" size="sm" disabled={!allowed} loading={order.isPending}>
        {t("completeness.check.now")}
      </Button>
      <output className="small">
        {allowed ? null : (
          <span className="late">
            {t("completeness.check.range", { days: formatCount(DAYS_MAX, text.locale), today: longDay(today, text) })}
          </span>
        )}
        {order.data === undefined
          ? null
          : t(order.data.ordered ? "completeness.check.ordered" : "completeness.check.again")}
      </output>
      {order.error === null ? null : <Failure error={order.error} />}
    </form>
  );
}

const RUN_MARKS = {
  waiting: { tone: "unknown", shape: "ring" },
  running: { tone: "way", shape: "half" },
  finished: { tone: "ok", shape: "full" },
  failed: { tone: "bad", shape: "triangle" },
} as const;

function Runs({ orders, runs }: Pick<ReconciliationList, "orders" | "runs">): ReactNode {
  const text = useText();
  const { t, locale } = text;
  return (
    <Table className="ledger runs">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t("completeness.check.when")}</Table.Th>
          <Table.Th>{t("completeness.check.days")}</Table.Th>
          <Table.Th>{t("completeness.check.what")}</Table.Th>
          <Table.Th>{t("completeness.check.by")}</Table.Th>
          <Table.Th className="number">{t("completeness.check.calls")}</Table.Th>
          <Table.Th>{t("completeness.check.state")}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {orders.map((order) => (
          <Table.Tr key={`order ${order.id}`}>
            <Table.Td className="mono">
              <Time value={order.orderedAt} text={text} as="list" />
            </Table.Td>
            <RunFacts run={order} />
            <Table.Td className="number" />
            <Table.Td className="wide">
              <State mark={RUN_MARKS.waiting}>{t("completeness.check.waiting")}</State>
            </Table.Td>
          </Table.Tr>
        ))}
        {runs.map((run) => (
          <Table.Tr key={run.id}>
            <Table.Td className="mono">
              <Time value={run.startedAt} text={text} as="list" />
            </Table.Td>
            <RunFacts run={run} />
            <Table.Td className="number" data-label={t("completeness.check.calls")}>
              {formatCount(run.calls, locale)}
            </Table.Td>
            <Table.Td className="wide">
              <RunState run={run} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

function RunFacts({ run }: { run: Pick<ReconciliationRun, "from" | "to" | "repair" | "name"> }): ReactNode {
  const text = useText();
  const { t } = text;
  const days = run.from === run.to ? longDay(run.from, text) : `${longDay(run.from, text)} – ${longDay(run.to, text)}`;
  return (
    <>
      <Table.Td>{days}</Table.Td>
      <Table.Td>{t(run.repair ? "completeness.check.withRepair" : "completeness.check.withoutRepair")}</Table.Td>
      <Table.Td>
        {run.name === "nightly check" ? t("completeness.check.schedule") : <Foreign>{run.name}</Foreign>}
      </Table.Td>
    </>
  );
}

function RunState({ run }: { run: ReconciliationRun }): ReactNode {
  const { t, locale } = useText();
  const progress = run.state === "running" ? (run.progress ?? undefined) : undefined;
  const label =
    progress === undefined
      ? undefined
      : t("completeness.check.progress", {
          done: formatCount(progress.done, locale),
          of: formatCount(progress.total, locale),
        });
  return (
    <>
      <State mark={RUN_MARKS[run.state]}>{t(`completeness.check.${run.state}`)}</State>
      {progress === undefined ? null : (
        <>
          <progress max={progress.total} value={progress.done} aria-label={label} />
          <span className="muted">{label}</span>
        </>
      )}
      {run.error === null ? null : (
        <span className="muted run-error" lang="en">
          <Foreign>{run.error}</Foreign>
        </span>
      )}
    </>
  );
}
