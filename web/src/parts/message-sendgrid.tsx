import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Enrichment, EnrichOrder, MessageSummary, Status } from "../../../src/views/contract.ts";
import { api } from "../api/client.ts";
import { formatCount } from "../text/number.ts";
import { Foreign } from "./foreign.tsx";
import { useLive } from "./live.tsx";
import { Time } from "./time.tsx";
import { useText } from "./use-text.ts";

/** SendGrid's own record beside ours. Where the two differ, a person should see it. */
export function SendGridSays({ message, enrichment }: { message: MessageSummary; enrichment: Enrichment }): ReactNode {
  const text = useText();
  const { t, locale } = text;
  const service = useLive((state) => state.status?.enrichment.state);
  if (enrichment.state === "none") return null;
  const isOff = service === "no_api_key" || service === "off" || service === "forbidden";
  return (
    <section aria-labelledby="says">
      <h2 id="says">{t("message.says")}</h2>
      {enrichment.state === "enriched" ? (
        <dl>
          <dt>{t("message.status")}</dt>
          <dd>{enrichment.status === null ? "–" : <Foreign>{enrichment.status}</Foreign>}</dd>
          <Compared
            name={t("message.opens")}
            theirs={enrichment.opens}
            ours={message.opens + message.machineOpens}
            locale={locale}
          />
          <Compared name={t("message.clicks")} theirs={enrichment.clicks} ours={message.clicks} locale={locale} />
          {enrichment.askedAt === null ? null : (
            <>
              <dt>{t("message.asked")}</dt>
              <dd>
                <Time value={enrichment.askedAt} text={text} as="ago" />
                {enrichment.api === null ? null : (
                  <span className="muted">
                    {" "}
                    {enrichment.api === "logs" ? t("message.viaLogs") : t("message.viaMessages")}
                  </span>
                )}
              </dd>
            </>
          )}
        </dl>
      ) : (
        <p>
          <NotEnriched hasFailed={enrichment.state === "failed"} service={service} />
        </p>
      )}
      {enrichment.state === "failed" && enrichment.error !== null ? (
        <p className="muted">
          <Foreign>{enrichment.error}</Foreign>
        </p>
      ) : null}
      {isOff ? null : <AskButton id={message.id} isAgain={enrichment.state !== "pending"} />}
    </section>
  );
}

type Service = Status["enrichment"]["state"] | undefined;

function NotEnriched({ hasFailed, service }: { hasFailed: boolean; service: Service }): ReactNode {
  const { t } = useText();
  if (hasFailed) return t("message.enrichFailed");
  if (service === "no_api_key") return t("message.enrichNoKey");
  if (service === "off") return t("message.enrichOff");
  return service === "forbidden" ? t("message.enrichForbidden") : t("message.enrichPending");
}

function Compared({
  name,
  theirs,
  ours,
  locale,
}: {
  name: string;
  theirs: number | null;
  ours: number;
  locale: string;
}): ReactNode {
  const { t } = useText();
  if (theirs === null) return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>
        {formatCount(theirs, locale)}{" "}
        <span className={theirs === ours ? "muted" : "late"}>
          {t("message.we", { formatted: formatCount(ours, locale) })}
        </span>
      </dd>
    </>
  );
}

/** SendGrid needs a moment to answer; the page then looks again. */
const LOOK_AGAIN_MS: readonly number[] = [2_000, 6_000, 15_000];

function AskButton({ id, isAgain }: { id: string; isAgain: boolean }): ReactNode {
  const { t } = useText();
  const client = useQueryClient();
  const ask = useMutation({
    mutationFn: () => api<EnrichOrder>("POST", `/api/messages/${encodeURIComponent(id)}/enrich`),
    onSuccess: () => {
      for (const ms of LOOK_AGAIN_MS)
        setTimeout(() => void client.invalidateQueries({ queryKey: ["message", id] }), ms);
    },
  });
  return (
    <>
      <Button
        variant="default"
        size="compact-sm"
        loading={ask.isPending}
        disabled={ask.isSuccess}
        onClick={() => ask.mutate()}
      >
        {isAgain ? t("message.askAgain") : t("message.ask")}
      </Button>
      <output className="muted after-button">
        {ask.data?.ordered === true ? t("message.askOrdered") : null}
        {ask.isError ? t("state.errorTitle") : null}
      </output>
    </>
  );
}
