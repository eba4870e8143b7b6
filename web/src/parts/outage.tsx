import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef } from "react";
import { askReadiness } from "../api/readiness.ts";
import { formatCount } from "../text/number.ts";
import { patienceLeft } from "../text/patience.ts";
import { shortSpan } from "../text/time.ts";
import { useText } from "./use-text.ts";

/** Asked anew at once when an answer was 503; else now and then, and often while it lasts. */
export const READINESS_KEY = ["readiness"] as const;
const CALM_MS = 15_000;
const AWAY_MS = 3_000;
const TICK_MS = 1_000;

/**
 * What a person must know while the database is away: nothing is lost, and for how long that holds. When it is back,
 * everything on the page is asked for again.
 */
export function Outage(): ReactNode {
  const text = useText(TICK_MS);
  const { t, locale, now } = text;
  const client = useQueryClient();
  const wasAway = useRef(false);
  const { data } = useQuery({
    queryKey: READINESS_KEY,
    queryFn: ({ signal }) => askReadiness(signal),
    refetchInterval: (query) => (query.state.data?.ready === false ? AWAY_MS : CALM_MS),
    retry: false,
  });
  const isAway = data?.ready === false;
  useEffect(() => {
    if (wasAway.current && !isAway) {
      void client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== READINESS_KEY[0] });
    }
    wasAway.current = isAway;
  }, [client, isAway]);
  if (!isAway) return null;

  const { posts = 0, oldestEventAt = null } = data.spool ?? {};
  const left = oldestEventAt === null ? 0 : patienceLeft(oldestEventAt, now);
  return (
    <div className="alarm away" role="alert">
      <b>{t("outage.title")}</b>{" "}
      {posts === 0 ? t("outage.nothing") : t("outage.spooled", { count: posts, formatted: formatCount(posts, locale) })}{" "}
      {posts === 0 ? null : <Clock left={left === 0 ? undefined : shortSpan(left, text)} />} {t("outage.todo")}
    </div>
  );
}

/** Read out once and not every minute anew. */
function Clock({ left }: { left: string | undefined }): ReactNode {
  const { t } = useText();
  return <span aria-live="off">{left === undefined ? t("outage.gone") : t("outage.left", { left })}</span>;
}
