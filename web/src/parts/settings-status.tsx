import { Skeleton, Table, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { System } from "../../../src/views/contract-settings.ts";
import type { Status } from "../../../src/views/contract.ts";
import { api } from "../api/client.ts";
import { en } from "../i18n/en.ts";
import type { Mark } from "../text/kinds.ts";
import { limitText } from "../text/limit-text.ts";
import { formatBytes, formatCount } from "../text/number.ts";
import { useLive } from "./live.tsx";
import { State } from "./mark.tsx";
import { Loaded } from "./states.tsx";
import { Time } from "./time.tsx";
import { useText } from "./use-text.ts";

const REFRESH_MS = 30_000;

/** What Holdfast runs on: versions, processes, whether what is committed stays, and every limit. */
export function SettingsStatus(): ReactNode {
  const { t } = useText();
  const status = useLive((state) => state.status);
  const system = useQuery({
    queryKey: ["system"],
    queryFn: ({ signal }) => api<System>("GET", "/api/system", { signal }),
    refetchInterval: REFRESH_MS,
  });
  return (
    <Loaded data={system.data} error={system.error} again={() => void system.refetch()}>
      {({ versions, durability, limits }) => (
        <>
          <section aria-labelledby="versions">
            <h2 id="versions">{t("system.versions")}</h2>
            <p className="versions">
              <span>Holdfast {versions.holdfast}</span>
              <span>PostgreSQL {versions.postgres}</span>
              <span>Node.js {versions.node.replace(/^v/, "")}</span>
            </p>
          </section>
          <section aria-labelledby="processes">
            <h2 id="processes">{t("system.processes")}</h2>
            {status === undefined ? <Skeleton height={72} /> : <Processes status={status} />}
          </section>
          <Durability settings={durability} />
          <Limits limits={limits} />
        </>
      )}
    </Loaded>
  );
}

function Processes({ status }: { status: Status }): ReactNode {
  const text = useText();
  const { t, locale } = text;
  if (status.instances.length === 0) return <p className="muted">{t("system.noProcesses")}</p>;
  return (
    <Table className="ledger cards">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t("system.process")}</Table.Th>
          <Table.Th>{t("system.roles")}</Table.Th>
          <Table.Th>{t("system.since")}</Table.Th>
          <Table.Th>{t("system.disk")}</Table.Th>
          <Table.Th>{t("system.spool")}</Table.Th>
          <Table.Th>{t("system.skew")}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {status.instances.map((instance) => (
          <Table.Tr key={instance.id}>
            <Table.Td className="name">
              {instance.host} <span className="muted">{instance.version}</span>
              {instance.id === status.instance ? <span className="tag">{t("system.thisOne")}</span> : null}
            </Table.Td>
            <Table.Td className="wide" data-label={t("system.roles")}>
              {instance.roles.join(", ")}
            </Table.Td>
            <Table.Td data-label={t("system.since")}>
              <Time value={instance.startedAt} text={text} as="list" />
            </Table.Td>
            <Table.Td data-label={t("system.disk")} className={instance.diskLow ? "bad" : ""}>
              {instance.diskFreeBytes === null ? "" : formatBytes(instance.diskFreeBytes, locale)}
              {instance.diskLow ? `, ${t("system.diskLow")}` : ""}
            </Table.Td>
            <Table.Td data-label={t("system.spool")} className={instance.spool.posts > 0 ? "late" : ""}>
              {instance.spool.posts === 0
                ? t("system.spoolEmpty")
                : t("system.spoolPosts", {
                    count: instance.spool.posts,
                    formatted: formatCount(instance.spool.posts, locale),
                  })}
            </Table.Td>
            <Table.Td data-label={t("system.skew")}>
              {instance.clockSkewMs === 0
                ? t("system.skewNone")
                : t("system.skewOff", { formatted: formatCount(instance.clockSkewMs, locale) })}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

type Verdict = System["durability"][number]["verdict"];

const VERDICT_MARKS: Readonly<Record<Verdict, Mark>> = {
  good: { tone: "ok", shape: "full" },
  weak: { tone: "late", shape: "quarter" },
  unsafe: { tone: "bad", shape: "triangle" },
};

type Explained = keyof typeof en.system.what;

function isExplained(name: string): name is Explained {
  return Object.hasOwn(en.system.what, name);
}

function Durability({ settings }: { settings: System["durability"] }): ReactNode {
  const { t } = useText();
  const has = (verdict: Verdict): boolean => settings.some((setting) => setting.verdict === verdict);
  const weakOrGood = has("weak") ? t("system.durabilityWeak") : t("system.durabilityGood");
  return (
    <section aria-labelledby="durability">
      <h2 id="durability">{t("system.durability")}</h2>
      <p className={has("unsafe") ? "bad" : "muted"}>{has("unsafe") ? t("system.durabilityUnsafe") : weakOrGood}</p>
      <Table className="ledger cards">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t("system.setting")}</Table.Th>
            <Table.Th>{t("system.value")}</Table.Th>
            <Table.Th>{t("system.verdict")}</Table.Th>
            <Table.Th />
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {settings.map(({ name, value, verdict }) => (
            <Table.Tr key={name}>
              <Table.Td className="name mono-text">{name}</Table.Td>
              <Table.Td className="mono-text" data-label={t("system.value")}>
                {value}
              </Table.Td>
              <Table.Td data-label={t("system.verdict")}>
                <State mark={VERDICT_MARKS[verdict]}>{t(`system.verdicts.${verdict}`)}</State>
              </Table.Td>
              <Table.Td className="wide">{isExplained(name) ? t(`system.what.${name}`) : null}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  );
}

function Limits({ limits }: { limits: System["limits"] }): ReactNode {
  const { t, locale } = useText();
  const [filter, setFilter] = useState("");
  const wanted = filter.trim().toUpperCase().replaceAll(" ", "_");
  const shown = limits.filter(({ name }) => name.toUpperCase().includes(wanted));
  return (
    <section aria-labelledby="limits">
      <h2 id="limits">{t("system.limits")}</h2>
      <p className="muted">{t("system.limitsLead")}</p>
      <div className="filters">
        <TextInput
          size="xs"
          type="search"
          aria-label={t("system.limitsFilter")}
          placeholder={t("system.limitsFilter")}
          value={filter}
          onChange={(event) => setFilter(event.currentTarget.value)}
        />
      </div>
      {shown.length === 0 ? <p className="muted">{t("system.limitsNone")}</p> : null}
      <dl className="limits">
        {shown.map(({ name, values }) => (
          <div key={name}>
            <dt className="mono-text">{name}</dt>
            <dd>{values.map((value) => limitText(name, value, locale)).join(" · ")}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
