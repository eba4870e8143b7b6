import { Button, Table, Tooltip } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { SourceKey, SourceList, SourceWithKeys } from "../../../src/views/contract-settings.ts";
import { api } from "../api/client.ts";
import { isKeyLive, shortFingerprint } from "../text/key-ends.ts";
import { formatCount } from "../text/number.ts";
import { Copyable } from "./copyable.tsx";
import { SimulatedTag } from "./notices.tsx";
import { AddKey, AddSource, EndKey } from "./settings-key-forms.tsx";
import { Loaded } from "./states.tsx";
import { Time } from "./time.tsx";
import { useText } from "./use-text.ts";

/** An order is carried out within seconds; until then the list looks again. */
const PENDING_MS = 1_000;
const REFRESH_MS = 30_000;
/** An end that has come shows at once. */
const TICK_MS = 1_000;

/** Every source, where it is reached, and the keys that open it. */
export function SettingsSources(): ReactNode {
  const { t } = useText();
  const [isAdding, setIsAdding] = useState(false);
  const list = useQuery({
    queryKey: ["sources"],
    queryFn: ({ signal }) => api<SourceList>("GET", "/api/sources", { signal }),
    refetchInterval: ({ state }) => ((state.data?.ordersPending ?? 0) > 0 ? PENDING_MS : REFRESH_MS),
  });
  return (
    <>
      <p className="lead">{t("keys.lead")}</p>
      <Loaded data={list.data} error={list.error} again={() => void list.refetch()}>
        {({ sources, ordersPending }) => (
          <>
            {ordersPending > 0 ? <output className="pending">{t("keys.pending")}</output> : null}
            {sources.map((source) => (
              <Source key={source.name} source={source} />
            ))}
            <Button variant="default" mt={24} onClick={() => setIsAdding(true)}>
              {t("keys.addSource")}
            </Button>
            {isAdding ? <AddSource onClose={() => setIsAdding(false)} /> : null}
          </>
        )}
      </Loaded>
    </>
  );
}

function Source({ source }: { source: SourceWithKeys }): ReactNode {
  const text = useText(TICK_MS);
  const { t, locale } = text;
  const [isAdding, setIsAdding] = useState(false);
  const [isPastShown, setIsPastShown] = useState(false);
  const live = source.keys.filter((key) => isKeyLive(key, text.now));
  const past = source.keys.filter((key) => !isKeyLive(key, text.now));
  return (
    <section className="source" aria-labelledby={`source-${source.name}`}>
      <div className="section-head">
        <h2 id={`source-${source.name}`}>
          {source.name}
          {source.simulated ? <SimulatedTag /> : null}
        </h2>
        {source.simulated ? null : (
          <Button variant="default" size="compact-sm" onClick={() => setIsAdding(true)}>
            {t("keys.add")}
          </Button>
        )}
      </div>
      <Copyable value={window.location.origin + source.path} />
      {live.length === 0 ? <p className="late">{t("keys.none")}</p> : null}
      {live.length + past.length === 0 ? null : (
        <KeyTable keys={isPastShown ? source.keys : live} source={source} liveCount={live.length} />
      )}
      {past.length === 0 ? null : (
        <button type="button" className="link" aria-expanded={isPastShown} onClick={() => setIsPastShown(!isPastShown)}>
          {t("keys.pastKeys", { count: past.length, formatted: formatCount(past.length, locale) })}
        </button>
      )}
      {isAdding ? <AddKey source={source.name} onClose={() => setIsAdding(false)} /> : null}
    </section>
  );
}

interface KeyTableProps {
  keys: readonly SourceKey[];
  source: SourceWithKeys;
  liveCount: number;
}

function KeyTable({ keys, source, liveCount }: KeyTableProps): ReactNode {
  const text = useText(TICK_MS);
  const { t } = text;
  const [ending, setEnding] = useState<SourceKey>();
  if (keys.length === 0) return null;
  return (
    <>
      <Table className="ledger cards keys">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t("keys.fingerprint")}</Table.Th>
            <Table.Th>{t("keys.origin")}</Table.Th>
            <Table.Th>{t("keys.from")}</Table.Th>
            <Table.Th>{t("keys.until")}</Table.Th>
            <Table.Th>{t("keys.used")}</Table.Th>
            <Table.Th>
              <span className="hidden">{t("keys.end")}</span>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {keys.map((key) => (
            <Table.Tr key={key.id} className={isKeyLive(key, text.now) ? "" : "ended"}>
              <Table.Td className="name mono-text" title={key.fingerprint}>
                {shortFingerprint(key.fingerprint)}
              </Table.Td>
              <Table.Td data-label={t("keys.origin")}>
                <Origin origin={key.origin} isSimulated={source.simulated} />
              </Table.Td>
              <Table.Td data-label={t("keys.from")}>
                <Time value={key.validFrom} text={text} as="list" />
              </Table.Td>
              <Table.Td data-label={t("keys.until")}>
                {key.validUntil === null ? t("keys.open") : <Time value={key.validUntil} text={text} as="list" />}
                {isKeyLive(key, text.now) ? null : <span className="tag">{t("keys.ended")}</span>}
              </Table.Td>
              <Table.Td data-label={t("keys.used")}>
                {key.usedAt === null ? t("settings.never") : <Time value={key.usedAt} text={text} as="ago" />}
              </Table.Td>
              <Table.Td className="action">
                {key.origin === "page" ? (
                  <Button
                    variant="subtle"
                    size="compact-sm"
                    aria-label={t("keys.endAria", { fingerprint: shortFingerprint(key.fingerprint) })}
                    onClick={() => setEnding(key)}
                  >
                    {t("keys.end")}
                  </Button>
                ) : null}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {ending === undefined ? null : (
        <EndKey
          keyToEnd={ending}
          isLast={liveCount === 1 && isKeyLive(ending, text.now)}
          onClose={() => setEnding(undefined)}
        />
      )}
    </>
  );
}

function Origin({ origin, isSimulated }: { origin: SourceKey["origin"]; isSimulated: boolean }): ReactNode {
  const { t } = useText();
  if (origin === "page") return t("keys.origins.page");
  return (
    <Tooltip label={isSimulated ? t("keys.simulatorHint") : t("keys.originHint")} multiline maw={320}>
      <span>{isSimulated ? t("keys.origins.simulator") : t("keys.origins.environment")}</span>
    </Tooltip>
  );
}
