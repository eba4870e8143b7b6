import { Button, NativeSelect } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import type { CompletenessOfDay, Gap, GapState } from "../../../src/views/contract-completeness.ts";
import { api } from "../api/client.ts";
import { confidenceText, kindText, ruleText } from "../text/completeness.ts";
import { clip, line, QUOTE_CHARS_MAX, visible } from "../text/hostile.ts";
import type { Mark } from "../text/kinds.ts";
import { messagePath, recipientPath } from "../text/message-filters.ts";
import { moment } from "../text/time.ts";
import { KindName } from "./completeness-kinds.tsx";
import { Foreign } from "./foreign.tsx";
import { State } from "./mark.tsx";
import { Failure, LoadingRows } from "./states.tsx";
import { Time } from "./time.tsx";
import { useText } from "./use-text.ts";

const GAP_STATES = ["open", "ordered", "repaired", "arrived", "closed"] as const satisfies readonly GapState[];

const GAP_MARKS: Readonly<Record<GapState, Mark>> = {
  open: { tone: "bad", shape: "triangle" },
  ordered: { tone: "way", shape: "half" },
  repaired: { tone: "ok", shape: "ring" },
  arrived: { tone: "ok", shape: "full" },
  closed: { tone: "unknown", shape: "minus" },
};

/** Every event that is or was missing on a day, narrowed by state and kind. */
export function Gaps({ data }: { data: CompletenessOfDay }): ReactNode {
  const { t } = useText();
  const [state, setState] = useState<GapState | "">("");
  const [kind, setKind] = useState("");
  const kinds = [...new Set(data.accounts.flatMap((account) => account.kinds.map((figures) => figures.kind)))];
  const list = useInfiniteQuery({
    queryKey: ["completeness", "gaps", data.day, state, kind],
    queryFn: ({ pageParam, signal }) => {
      const query = new URLSearchParams();
      if (state !== "") query.set("state", state);
      if (kind !== "") query.set("kind", kind);
      if (pageParam !== "") query.set("cursor", pageParam);
      return api<CompletenessOfDay>("GET", `/api/completeness/${data.day}?${query.toString()}`, { signal });
    },
    initialPageParam: "",
    getNextPageParam: (page) => page.nextCursor,
  });
  const gaps = list.data?.pages.flatMap((page) => page.gaps);
  const isNarrowed = state !== "" || kind !== "";
  // A day without gaps needs no filters.
  if (data.gaps.length === 0) {
    return data.isChecked ? (
      <section aria-labelledby="gaps">
        <h2 id="gaps">{t("completeness.day.gaps")}</h2>
        <p className="muted small">{t("completeness.day.noGaps")}</p>
      </section>
    ) : null;
  }
  return (
    <section aria-labelledby="gaps">
      <div className="section-head">
        <h2 id="gaps">{t("completeness.day.gaps")}</h2>
      </div>
      <div className="filters">
        <NativeSelect
          size="xs"
          aria-label={t("completeness.day.stateLabel")}
          value={state}
          onChange={(event) => setState(GAP_STATES.find((each) => each === event.currentTarget.value) ?? "")}
          data={[
            { value: "", label: t("completeness.day.anyState") },
            ...GAP_STATES.map((value) => ({ value, label: t(`completeness.day.gapStates.${value}`) })),
          ]}
        />
        <KindFilter kinds={kinds} kind={kind} onChange={setKind} />
      </div>
      {list.error !== null && gaps === undefined ? (
        <Failure error={list.error} again={() => void list.refetch()} />
      ) : null}
      {gaps === undefined && list.error === null ? <LoadingRows /> : null}
      {gaps?.length === 0 && isNarrowed ? <p className="muted small">{t("completeness.day.noGapsSuch")}</p> : null}
      <ul className="papers gaps">
        {gaps?.map((gap) => (
          <GapItem key={gap.id} gap={gap} />
        ))}
      </ul>
      {list.hasNextPage ? (
        <Button variant="default" mt={16} loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          {t("completeness.day.more")}
        </Button>
      ) : null}
    </section>
  );
}

interface KindFilterProps {
  kinds: readonly string[];
  kind: string;
  onChange: (kind: string) => void;
}

function KindFilter({ kinds, kind, onChange }: KindFilterProps): ReactNode {
  const text = useText();
  const { t } = text;
  return (
    <NativeSelect
      size="xs"
      aria-label={t("completeness.day.kindLabel")}
      value={kind}
      onChange={(event) => onChange(event.currentTarget.value)}
      data={[
        { value: "", label: t("completeness.day.anyKind") },
        ...kinds.map((value) => ({ value, label: kindText(value, text) ?? line(value) })),
      ]}
    />
  );
}

function GapItem({ gap }: { gap: Gap }): ReactNode {
  const text = useText();
  const { t } = text;
  const [open, setOpen] = useState(false);
  return (
    <li>
      <div className="gap-head">
        <KindName kind={gap.kind} />
        <span className="muted">
          {gap.occurredAt === null ? (
            t("completeness.day.noTime")
          ) : (
            <Time value={gap.occurredAt} text={text} as="moment" />
          )}
        </span>
        {gap.recipient === null ? null : (
          <Link href={recipientPath(gap.recipient)}>
            <Foreign>{gap.recipient}</Foreign>
          </Link>
        )}
        <GapMessage gap={gap} />
        <span className="gap-state">
          <State mark={GAP_MARKS[gap.state]}>{t(`completeness.day.gapStates.${gap.state}`)}</State>
        </span>
      </div>
      <p className="muted">
        <Foreign>{ruleText(gap.rule, text)}</Foreign> ({confidenceText(gap.confidence, text)})
        <RepairText gap={gap} />{" "}
        <button type="button" className="link" aria-expanded={open} onClick={() => setOpen(!open)}>
          {t("completeness.day.evidence")}
        </button>
      </p>
      {open ? <Evidence gap={gap} /> : null}
    </li>
  );
}

function GapMessage({ gap }: { gap: Gap }): ReactNode {
  const { t } = useText();
  if (gap.messageId === null) return null;
  if (!gap.isHeld) {
    return (
      <span className="muted" title={gap.messageId}>
        {t("completeness.day.messageUnheld")}
      </span>
    );
  }
  return <Link href={messagePath(gap.messageId)}>{t("completeness.day.message")}</Link>;
}

function RepairText({ gap: { repair } }: { gap: Gap }): ReactNode {
  const text = useText();
  const { t } = text;
  if (repair === null) return null;
  const from = t(`completeness.origins.${repair.origin}`);
  const sentence = {
    filed: () =>
      `${t("completeness.day.gapStates.repaired")} ${t("completeness.day.repairedFrom", { from, moment: moment(repair.repairedAt, text) })}.`,
    held: () => t("completeness.day.heldAlready"),
    unreadable: () => t("completeness.day.unreadable"),
  }[repair.outcome]();
  return (
    <>
      {" · "}
      {sentence}
      {repair.replacedAt === null
        ? null
        : ` ${t("completeness.day.replaced", { moment: moment(repair.replacedAt, text) })}`}
    </>
  );
}

function Evidence({ gap }: { gap: Gap }): ReactNode {
  const { t } = useText();
  if (gap.evidenceLeftOut) return <p className="muted">{t("completeness.day.evidenceLeftOut")}</p>;
  const { evidence, eventId, messageId } = gap;
  const { text } = clip(JSON.stringify({ messageId, eventId, ...evidence }, null, 2), QUOTE_CHARS_MAX);
  return (
    <pre className="bytes">
      <bdi>{visible(text)}</bdi>
    </pre>
  );
}
