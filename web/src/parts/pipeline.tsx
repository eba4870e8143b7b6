import type { ReactNode } from "react";
import type { Status } from "../../../src/views/contract.ts";
import type { TextContext } from "../text/context.ts";
import { formatBytes, formatCount, formatRate } from "../text/number.ts";
import { expectedEndMs, patienceLeft, type Waiting } from "../text/patience.ts";
import { ago, shortSpan } from "../text/time.ts";
import { useLive } from "./live.tsx";
import { SimulatedTag } from "./notices.tsx";
import { Time } from "./time.tsx";
import { useText } from "./use-text.ts";

const TICK_MS = 1_000;
/** After this long without a new balance the last rate says nothing about now. */
const RATE_FRESH_MS = 3_000;

interface Stage {
  name: string;
  now: string;
  note: string;
  /** Something here needs a look. */
  late?: boolean;
}

function enrichmentStage(status: Status, since: Waiting | undefined, text: TextContext): Stage {
  const { t, locale, now } = text;
  const { enrichment } = status;
  const name = t("live.enrichment");
  const waiting =
    enrichment.pending === 0
      ? t("live.pendingNone")
      : t("live.pending", { formatted: formatCount(enrichment.pending, locale) });
  if (enrichment.state === "no_api_key") return { name, now: t("live.enrichNoKey"), note: t("live.enrichNoKeyHint") };
  if (enrichment.state === "off") return { name, now: t("live.enrichOff"), note: waiting };
  if (enrichment.state === "forbidden")
    return { name, now: t("live.enrichForbidden"), note: t("live.enrichForbiddenHint"), late: true };
  const end = expectedEndMs(since, { at: now, count: enrichment.pending });
  const calls = t("live.calls", {
    left: formatCount(enrichment.callsLeft, locale),
    max: formatCount(enrichment.callsPerMinute, locale),
  });
  const failed =
    enrichment.failed === 0 ? "" : `${t("live.failed", { formatted: formatCount(enrichment.failed, locale) })} · `;
  const expected = end === undefined ? "" : `${t("way.done", { span: shortSpan(end, text) })} · `;
  return { name, now: waiting, note: failed + expected + calls };
}

/** What was refused while the database was away, and waits on disk. */
function spoolStage(status: Status, text: TextContext): Stage {
  const { t, locale, now } = text;
  const name = t("way.spool");
  const posts = status.instances.reduce((sum, { spool }) => sum + spool.posts, 0);
  if (posts === 0) return { name, now: t("way.spoolEmpty"), note: t("way.spoolHint") };
  const oldest = status.instances.flatMap(({ spool }) => spool.oldestEventAt ?? []).sort()[0];
  const left = oldest === undefined ? 0 : patienceLeft(oldest, now);
  return {
    name,
    now: t("way.spoolPosts", { count: posts, formatted: formatCount(posts, locale) }),
    note: left > 0 ? t("way.spoolLeft", { left: shortSpan(left, text) }) : t("way.spoolGone"),
    late: true,
  };
}

function useStages(): Stage[] | undefined {
  const text = useText(TICK_MS);
  const { t, locale } = text;
  const status = useLive((state) => state.status);
  const balance = useLive((state) => state.balance);
  const rate = useLive((state) => state.rate);
  const balanceAt = useLive((state) => state.balanceAt);
  const pendingSince = useLive((state) => state.pendingSince);
  if (status === undefined || balance === undefined) return undefined;

  const number = (value: number): string => formatCount(value, locale);
  const lastPost = status.sources
    .map((source) => source.lastReceiptAt ?? "")
    .reduce((last, time) => (time > last ? time : last), "");
  const heard = status.sources.filter((source) => source.lastReceiptAt !== null).length;
  const isMoving = rate !== undefined && rate > 0 && balanceAt !== undefined && text.now - balanceAt < RATE_FRESH_MS;
  const age = shortSpan(status.inbox.oldestSeconds * 1_000, text);
  const waiting = status.inbox.receipts;
  return [
    {
      name: t("live.sendgrid"),
      now: lastPost === "" ? t("live.noPost") : t("live.lastPost", { ago: ago(lastPost, text) }),
      note: t("live.sources", { count: heard, formatted: number(heard) }),
    },
    {
      name: t("live.intake"),
      now: t("live.receipts", { count: balance.receipts.accepted, formatted: number(balance.receipts.accepted) }),
      note: t("live.receiptsHint"),
    },
    spoolStage(status, text),
    {
      name: t("live.inbox"),
      now: waiting === 0 ? t("live.inboxEmpty") : t("live.waiting", { count: waiting, formatted: number(waiting) }),
      note: waiting === 0 ? t("live.inboxEmptyHint") : t("live.oldest", { age }),
    },
    {
      name: t("live.ledger"),
      now: isMoving ? t("live.rate", { rate: formatRate(rate, locale) }) : t("live.rateIdle"),
      note:
        status.quarantineOpen === 0
          ? t("live.noQuarantine")
          : t("live.inQuarantine", { formatted: number(status.quarantineOpen) }),
      late: status.quarantineOpen > 0,
    },
    enrichmentStage(status, pendingSince, text),
  ];
}

/** Where everything is between SendGrid and the last fact about a mail. */
export function Pipeline(): ReactNode {
  const { t } = useText();
  const stages = useStages();
  return (
    <section aria-labelledby="way">
      <h2 id="way">{t("live.way")}</h2>
      <ol className="flow">
        {(stages ?? []).map((stage) => (
          <li key={stage.name}>
            <b>{stage.name}</b>
            <span>{stage.now}</span>
            <em className={stage.late === true ? "late" : ""}>{stage.note}</em>
          </li>
        ))}
      </ol>
      <Faults />
      <LastSeen />
    </section>
  );
}

/** What is wrong with the ground that the pipeline stands on: disks, and a database that forgets. */
function Faults(): ReactNode {
  const { t, locale } = useText();
  const instances = useLive((state) => state.status?.instances) ?? [];
  const unsafe = [...new Set(instances.flatMap((instance) => instance.unsafe))].join(", ");
  return (
    <>
      {instances
        .filter(({ diskLow }) => diskLow)
        .map(({ id, host, diskFreeBytes }) => (
          <p key={id} className="fault">
            {t("way.diskLow", { host, free: formatBytes(diskFreeBytes ?? 0, locale) })}
          </p>
        ))}
      {unsafe === "" ? null : <p className="fault">{t("way.unsafe", { settings: unsafe })}</p>}
    </>
  );
}

/** When each source was last heard of: one that is silent is easily missed among others that are not. */
function LastSeen(): ReactNode {
  const text = useText(TICK_MS);
  const { t } = text;
  const all = useLive((state) => state.status?.sources) ?? [];
  const sources = all.filter(({ simulated, lastReceiptAt }) => !simulated || lastReceiptAt !== null);
  if (sources.length === 0) return null;
  return (
    <ul className="last-seen" aria-label={t("way.lastSeen")}>
      <li aria-hidden="true">{t("way.lastSeen")}</li>
      {sources.map(({ name, simulated, lastReceiptAt }) => (
        <li key={name}>
          <b>{name}</b>
          {simulated ? <SimulatedTag /> : null}{" "}
          {lastReceiptAt === null ? t("way.never") : <Time value={lastReceiptAt} text={text} as="ago" />}
        </li>
      ))}
    </ul>
  );
}
