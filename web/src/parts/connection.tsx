import { Tooltip } from "@mantine/core";
import type { ReactNode } from "react";
import { shownConnection } from "../api/live-state.ts";
import { clock } from "../text/time.ts";
import { useLive } from "./live.tsx";
import { useText } from "./use-text.ts";

const TICK_MS = 1_000;

/** Whether what the page shows is current. */
export function ConnectionState(): ReactNode {
  const text = useText(TICK_MS);
  const { t } = text;
  const connection = useLive((state) => state.connection);
  const downSince = useLive((state) => state.downSince);
  const shown = shownConnection({ connection, downSince }, text.now);
  const since = clock(downSince ?? text.now, text);
  const words = {
    connecting: t("header.connecting"),
    live: t("header.live"),
    reconnecting: t("header.reconnecting"),
    stale: t("header.stale", { time: since }),
    full: t("header.full"),
  };
  return (
    <Tooltip
      label={shown === "live" ? t("header.liveHint") : t("header.staleHint")}
      multiline
      maw={280}
      events={{ hover: true, focus: false, touch: true }}
    >
      <output className={`connection ${shown}`}>
        <i aria-hidden="true" />
        {words[shown]}
      </output>
    </Tooltip>
  );
}
