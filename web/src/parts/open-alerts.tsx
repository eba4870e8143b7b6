import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import type { AlertList } from "../../../src/views/contract.ts";
import { api } from "../api/client.ts";
import { alertText } from "../text/alert-text.ts";
import { useIsSimulated, useLive } from "./live.tsx";
import { SimulatedTag } from "./notices.tsx";
import { useText } from "./use-text.ts";

/** What needs a person and was not seen by one yet, above everything else of the live page. */
export function OpenAlerts(): ReactNode {
  const text = useText();
  const isSimulated = useIsSimulated();
  const open = useLive((state) => state.status?.alertsOpen ?? 0);
  const alerts = useQuery({
    queryKey: ["alerts", "open", open],
    queryFn: ({ signal }) => api<AlertList>("GET", "/api/alerts", { signal }),
    enabled: open > 0,
  });
  const unseen =
    open === 0
      ? []
      : (alerts.data?.alerts ?? []).filter((alert) => alert.resolvedAt === null && alert.acknowledgedBy === null);
  return unseen.map((alert) => (
    <p key={alert.id} className="alert-line">
      <b>{alertText(alert, text).what}</b>
      {alert.source !== "" && isSimulated(alert.source) ? <SimulatedTag /> : null}
      <Link href="/alerts">{text.t("nav.alerts")}</Link>
    </p>
  ));
}
