import { type ReactNode, useState } from "react";
import type { MessageReceipt } from "../../../src/views/contract.ts";
import { formatBytes, formatCount } from "../text/number.ts";
import { State } from "./mark.tsx";
import { Time } from "./time.tsx";
import { useText } from "./use-text.ts";

const SHOWN_AT_FIRST = 4;

interface ReceiptsProps {
  receipts: readonly MessageReceipt[];
  /** Whether the reader's role may take their bytes, which hold other people's events too. */
  mayTake: boolean;
}

/** The POSTs behind a mail's events: the proof. */
export function Receipts({ receipts, mayTake }: ReceiptsProps): ReactNode {
  const text = useText();
  const { t, locale } = text;
  const [all, setAll] = useState(false);
  const unsigned = receipts.filter((receipt) => !receipt.signed).length;
  const count = receipts.length;
  const shown = all ? receipts : receipts.slice(0, SHOWN_AT_FIRST);
  return (
    <section aria-labelledby="receipts">
      <h2 id="receipts">{t("message.receipts")}</h2>
      {count === 0 ? <p className="muted">{t("message.noReceipts")}</p> : null}
      {count > 0 && unsigned === 0 ? (
        <p>
          <State mark={{ tone: "ok", shape: "full" }}>
            {t("message.signed", { count, formatted: formatCount(count, locale) })}
          </State>
        </p>
      ) : null}
      {unsigned > 0 ? (
        <p>
          <State mark={{ tone: "late", shape: "quarter" }}>
            {t("message.unsigned", { unsigned: formatCount(unsigned, locale), all: formatCount(count, locale) })}
          </State>
        </p>
      ) : null}
      <ul className="plain">
        {shown.map((receipt) => (
          <li key={receipt.id} title={`SHA-256 ${receipt.sha256}`}>
            {mayTake ? (
              <a className="mono" href={`/api/receipts/${receipt.id}/body`} download title={t("receipt.take")}>
                {receipt.id}
              </a>
            ) : (
              <span className="mono">{receipt.id}</span>
            )}
            <span className="muted">
              <Time value={receipt.receivedAt} text={text} as="list" /> · {formatBytes(receipt.bytes, locale)} ·{" "}
              {receipt.signed ? t("message.receiptSigned") : t("message.receiptUnsigned")}
            </span>
          </li>
        ))}
      </ul>
      {count > SHOWN_AT_FIRST && !all ? (
        <button type="button" className="link" onClick={() => setAll(true)}>
          {t("message.allOthers")}
        </button>
      ) : null}
    </section>
  );
}
