import { Button } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import type { Alert, AlertList, Ordered } from "../../../src/views/contract.ts";
import { api } from "../api/client.ts";
import { Foreign } from "../parts/foreign.tsx";
import { useIsSimulated } from "../parts/live.tsx";
import { State } from "../parts/mark.tsx";
import { SimulatedTag } from "../parts/notices.tsx";
import { Failure, LoadingRows, Nothing } from "../parts/states.tsx";
import { useText } from "../parts/use-text.ts";
import { useTitle } from "../parts/use-title.ts";
import { alertText } from "../text/alert-text.ts";
import { bareMoment, utc } from "../text/time.ts";

const REFRESH_MS = 10_000;

/** What needs a person, and what did. */
export function AlertsPage({ isAdmin }: { isAdmin: boolean }): ReactNode {
  const { t } = useText();
  useTitle(t("alerts.title"));
  const list = useQuery({
    queryKey: ["alerts", "all"],
    queryFn: ({ signal }) => api<AlertList>("GET", "/api/alerts?state=all", { signal }),
    refetchInterval: REFRESH_MS,
  });
  const alerts = list.data?.alerts;
  const open = alerts?.filter((alert) => alert.resolvedAt === null) ?? [];
  const past = alerts?.filter((alert) => alert.resolvedAt !== null) ?? [];
  return (
    <>
      <h1 className="large">{t("alerts.title")}</h1>
      {list.error !== null && alerts === undefined ? (
        <Failure error={list.error} again={() => void list.refetch()} />
      ) : null}
      {alerts === undefined && list.error === null ? <LoadingRows rows={4} /> : null}
      {alerts !== undefined && open.length === 0 ? (
        <Nothing title={t("alerts.none")}>
          <p>{t("alerts.noneHint")}</p>
        </Nothing>
      ) : null}
      <ul className="papers">
        {open.map((alert) => (
          <AlertItem key={alert.id} alert={alert} isAdmin={isAdmin} />
        ))}
      </ul>
      {past.length === 0 ? null : (
        <>
          <h2>{t("alerts.past")}</h2>
          <ul className="papers past">
            {past.map((alert) => (
              <AlertItem key={alert.id} alert={alert} isAdmin={isAdmin} />
            ))}
          </ul>
        </>
      )}
    </>
  );
}

/** Where an alert can be acted upon in this page. The settings are an admin's. */
function PlaceLink({ kind, isAdmin }: { kind: Alert["kind"]; isAdmin: boolean }): ReactNode {
  const { t } = useText();
  switch (kind) {
    case "quarantine_open":
      return <Link href="/quarantine">{t("alerts.openQuarantine")}</Link>;
    case "signature_failing":
    case "source_unknown":
      return isAdmin ? (
        <Link href="/settings/sources">{`${t("settings.title")}: ${t("settings.sources")}`}</Link>
      ) : null;
    case "disk_low":
    case "durability_unsafe":
      return isAdmin ? <Link href="/settings/status">{`${t("settings.title")}: ${t("settings.status")}`}</Link> : null;
    case "events_missing":
    case "sends_unseen":
    case "events_repaired":
    case "reconciliation_failing":
      return <Link href="/completeness">{t("completeness.title")}</Link>;
    default:
      return null;
  }
}

function AlertItem({ alert, isAdmin }: { alert: Alert; isAdmin: boolean }): ReactNode {
  const text = useText();
  const { t } = text;
  const isSimulated = useIsSimulated();
  const words = alertText(alert, text);
  const isOpen = alert.resolvedAt === null;
  return (
    <li>
      <div className="paper-head">
        <b>{isOpen ? <State mark={{ tone: "late", shape: "quarter" }}>{words.what}</State> : words.what}</b>
        {alert.source !== "" && isSimulated(alert.source) ? <SimulatedTag /> : null}
      </div>
      {isOpen ? <p>{words.todo}</p> : null}
      <p className="muted">
        <time dateTime={alert.since} title={utc(alert.since)}>
          {t("alerts.since", { moment: bareMoment(alert.since, text) })}
        </time>
        {alert.resolvedAt === null
          ? null
          : ` · ${t("alerts.resolved", { moment: bareMoment(alert.resolvedAt, text) })}`}
        {alert.source === "" || alert.kind === "receiver_failing"
          ? null
          : ` · ${t("alerts.inSource", { source: alert.source })}`}
        {alert.acknowledgedBy === null ? null : (
          <>
            {" · "}
            <Foreign>{t("alerts.acknowledged", { name: alert.acknowledgedBy })}</Foreign>
          </>
        )}
      </p>
      {isOpen ? (
        <div className="paper-actions">
          {alert.acknowledgedBy === null ? <AcknowledgeButton id={alert.id} /> : null}
          <PlaceLink kind={alert.kind} isAdmin={isAdmin} />
        </div>
      ) : null}
    </li>
  );
}

function AcknowledgeButton({ id }: { id: string }): ReactNode {
  const { t } = useText();
  const client = useQueryClient();
  const acknowledge = useMutation({
    mutationFn: () => api<Ordered>("POST", `/api/alerts/${encodeURIComponent(id)}/acknowledge`),
    onSuccess: () => client.invalidateQueries({ queryKey: ["alerts"] }),
  });
  return (
    <>
      <Button variant="default" size="compact-sm" loading={acknowledge.isPending} onClick={() => acknowledge.mutate()}>
        {t("alerts.acknowledge")}
      </Button>
      {acknowledge.error === null ? null : <Failure error={acknowledge.error} />}
    </>
  );
}
