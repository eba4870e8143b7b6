import { Button, Tooltip } from "@mantine/core";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { Ordered, QuarantineItem, QuarantineList } from "../../../src/views/contract.ts";
import { api } from "../api/client.ts";
import { useIsSimulated } from "../parts/live.tsx";
import { SimulatedTag } from "../parts/notices.tsx";
import { Failure, LoadingRows, Nothing } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { useText } from "../parts/use-text.ts";
import { useTitle } from "../parts/use-title.ts";
import { visible } from "../text/hostile.ts";
import { formatBytes, formatCount } from "../text/number.ts";
import { quarantineReason } from "../text/quarantine-text.ts";

/** What could not become an event. Its bytes are a stranger's: they are shown as text, with everything hidden made visible. */
export function QuarantinePage({ isAdmin }: { isAdmin: boolean }): ReactNode {
  const { t } = useText();
  useTitle(t("quarantine.title"));
  const list = useInfiniteQuery({
    queryKey: ["quarantine"],
    queryFn: ({ pageParam, signal }) => {
      const query = new URLSearchParams({ state: "open" });
      if (pageParam !== "") query.set("cursor", pageParam);
      return api<QuarantineList>("GET", `/api/quarantine?${query.toString()}`, { signal });
    },
    initialPageParam: "",
    getNextPageParam: (page) => page.nextCursor,
  });
  const items = list.data?.pages.flatMap((page) => page.items);
  return (
    <>
      <h1 className="large">{t("quarantine.title")}</h1>
      <p className="lead">{t("quarantine.lead")}</p>
      {list.error !== null && items === undefined ? (
        <Failure error={list.error} again={() => void list.refetch()} />
      ) : null}
      {items === undefined && list.error === null ? <LoadingRows /> : null}
      {items?.length === 0 ? (
        <Nothing title={t("quarantine.none")}>
          <p>{t("quarantine.noneHint")}</p>
        </Nothing>
      ) : null}
      <ul className="papers">
        {items?.map((item) => (
          <Item key={item.id} item={item} isAdmin={isAdmin} />
        ))}
      </ul>
      {list.hasNextPage ? (
        <Button variant="default" mt={16} loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          {t("quarantine.more")}
        </Button>
      ) : null}
    </>
  );
}

function Item({ item, isAdmin }: { item: QuarantineItem; isAdmin: boolean }): ReactNode {
  const text = useText();
  const { t, locale } = text;
  const isSimulated = useIsSimulated();
  const [open, setOpen] = useState(false);
  const place =
    item.ordinal < 0
      ? t("quarantine.whole")
      : t("quarantine.place", { ordinal: formatCount(item.ordinal + 1, locale) });
  return (
    <li>
      <div className="paper-head">
        <b>{quarantineReason(item.reason, text)}</b>
        {isSimulated(item.source) ? <SimulatedTag /> : null}
      </div>
      <p className="muted">
        {t("quarantine.received")} <Time value={item.receivedAt} text={text} as="ago" /> · {t("quarantine.source")}{" "}
        {item.source} · {place} · {formatBytes(item.bytes, locale)} · {t("quarantine.receipt")}{" "}
        <span className="mono">{item.receipt}</span>
      </p>
      {open ? (
        <pre className="bytes">
          <bdi>{visible(item.excerpt)}</bdi>
        </pre>
      ) : null}
      {open && item.bytes > new TextEncoder().encode(item.excerpt).length ? (
        <p className="muted">{t("quarantine.excerpt")}</p>
      ) : null}
      <div className="paper-actions">
        <Button variant="default" size="compact-sm" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? t("quarantine.bytesHide") : t("quarantine.bytes")}
        </Button>
        <ReplayButton id={item.id} isAdmin={isAdmin} />
      </div>
    </li>
  );
}

/** A replay is carried out soon after it is ordered; the list then looks again. */
const LOOK_AGAIN_MS: readonly number[] = [1_500, 5_000];

function ReplayButton({ id, isAdmin }: { id: string; isAdmin: boolean }): ReactNode {
  const { t } = useText();
  const client = useQueryClient();
  const replay = useMutation({
    mutationFn: () => api<Ordered>("POST", `/api/quarantine/${encodeURIComponent(id)}/replay`),
    onSuccess: () => {
      for (const ms of LOOK_AGAIN_MS) setTimeout(() => void client.invalidateQueries({ queryKey: ["quarantine"] }), ms);
    },
  });
  return (
    <>
      <Tooltip label={isAdmin ? t("quarantine.replayHint") : t("quarantine.adminOnly")} multiline maw={280}>
        <Button
          variant="default"
          size="compact-sm"
          data-disabled={!isAdmin || replay.isSuccess}
          aria-disabled={!isAdmin || replay.isSuccess}
          loading={replay.isPending}
          onClick={() => isAdmin && !replay.isSuccess && replay.mutate()}
        >
          {replay.isSuccess ? t("quarantine.replayOrdered") : t("quarantine.replay")}
        </Button>
      </Tooltip>
      {replay.error === null ? null : <Failure error={replay.error} />}
    </>
  );
}
