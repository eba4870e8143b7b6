import { Table } from "@mantine/core";
import type { ReactNode } from "react";
import type { DayResult, KindFigures } from "../../../src/views/contract-completeness.ts";
import { confidenceText, kindText, meansText, totalsOf } from "../text/completeness.ts";
import { KINDS, markOfKind } from "../text/kinds.ts";
import { formatCount } from "../text/number.ts";
import { Foreign } from "./foreign.tsx";
import { State } from "./mark.tsx";
import { useText } from "./use-text.ts";

/** SendGrid's count beside the ledger's, kind by kind, like an account with its difference. */
export function KindsTable({ result }: { result: DayResult }): ReactNode {
  const { t } = useText();
  const { kinds, missing, repaired, open } = result;
  if (kinds.length === 0) return null;
  return (
    <Table className="ledger kinds">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t("completeness.day.kind")}</Table.Th>
          <Table.Th className="number">{t("completeness.day.sendgrid")}</Table.Th>
          <Table.Th className="number">{t("completeness.day.held")}</Table.Th>
          <Table.Th className="number">{t("completeness.day.missingColumn")}</Table.Th>
          <Table.Th className="number">{t("completeness.day.repaired")}</Table.Th>
          <Table.Th className="number">{t("completeness.day.open")}</Table.Th>
          <Table.Th className="number" title={t("completeness.day.surplusHint")}>
            {t("completeness.day.surplus")}
          </Table.Th>
          <Table.Th>{t("completeness.day.checkedBy")}</Table.Th>
          <Table.Th>{t("completeness.day.confidence")}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {kinds.map((figures) => (
          <KindRow key={figures.kind} figures={figures} />
        ))}
        <Table.Tr className="sum">
          <Table.Td>{t("completeness.day.sum")}</Table.Td>
          <Numbers figures={{ ...totalsOf(kinds), missing, repaired, open }} />
          <Table.Td />
          <Table.Td />
        </Table.Tr>
      </Table.Tbody>
    </Table>
  );
}

function KindRow({ figures }: { figures: KindFigures }): ReactNode {
  const text = useText();
  return (
    <Table.Tr>
      <Table.Td>
        <KindName kind={figures.kind} />
      </Table.Td>
      <Numbers figures={figures} />
      <Table.Td className="means">
        <Foreign>{meansText(figures.checkedBy, text)}</Foreign>
      </Table.Td>
      <Table.Td className="means">
        <Foreign>{confidenceText(figures.confidence, text)}</Foreign>
      </Table.Td>
    </Table.Tr>
  );
}

/** With its sign. */
export function KindName({ kind }: { kind: string }): ReactNode {
  const text = useText();
  const known = KINDS.find((each) => each === kind);
  if (known === undefined) return <Foreign>{kind}</Foreign>;
  return <State mark={markOfKind(known)}>{kindText(kind, text)}</State>;
}

type Figures = Pick<KindFigures, "sendgrid" | "held" | "missing" | "repaired" | "open" | "surplus">;

function Numbers({ figures }: { figures: Figures }): ReactNode {
  const { t, locale } = useText();
  const { sendgrid, held, missing, repaired, open, surplus } = figures;
  const cell = (label: string, value: number, tone = ""): ReactNode => (
    <Table.Td className={`number ${value === 0 ? "zero" : tone}`} data-label={label}>
      {formatCount(value, locale)}
    </Table.Td>
  );
  return (
    <>
      <Table.Td className="number" data-label={t("completeness.day.sendgrid")}>
        {sendgrid === null ? (
          <span className="muted">{t("completeness.day.noTotal")}</span>
        ) : (
          formatCount(sendgrid, locale)
        )}
      </Table.Td>
      {cell(t("completeness.day.held"), held)}
      {cell(t("completeness.day.missingColumn"), missing)}
      {cell(t("completeness.day.repaired"), repaired, "ok")}
      {cell(t("completeness.day.open"), open, "bad")}
      {cell(t("completeness.day.surplus"), surplus)}
    </>
  );
}
