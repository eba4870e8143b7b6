import { ActionIcon, CopyButton } from "@mantine/core";
import type { ReactNode } from "react";
import { Link } from "wouter";
import type { MessageSummary } from "../../../src/views/contract.ts";
import { line } from "../text/hostile.ts";
import { messagesPath, recipientPath } from "../text/message-filters.ts";
import { Foreign } from "./foreign.tsx";
import { CopyIcon, DoneIcon } from "./icons.tsx";
import { useText } from "./use-text.ts";

/** Custom args shown; SendGrid allows 10,000 bytes of them, which is a thousand short ones. */
const ARGS_SHOWN_MAX = 50;

function CopyId({ value }: { value: string }): ReactNode {
  const { t } = useText();
  return (
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <ActionIcon
          variant="subtle"
          size="xs"
          aria-label={copied ? t("message.copied") : t("message.copy")}
          title={copied ? t("message.copied") : t("message.copy")}
          onClick={copy}
        >
          {copied ? <DoneIcon /> : <CopyIcon />}
        </ActionIcon>
      )}
    </CopyButton>
  );
}

/** What was sent along with the mail: the values a customer or a colleague knows it by. */
export function AboutMail({ message, template }: { message: MessageSummary; template: string | null }): ReactNode {
  const { t } = useText();
  return (
    <section aria-labelledby="about">
      <h2 id="about">{t("message.about")}</h2>
      <dl>
        {message.recipient === null ? null : (
          <>
            <dt>{t("message.recipient")}</dt>
            <dd>
              <Link href={recipientPath(message.recipient)} title={t("recipient.allMails")}>
                <Foreign>{message.recipient}</Foreign>
              </Link>{" "}
              <CopyId value={message.recipient} />
            </dd>
          </>
        )}
        {Object.entries(message.args)
          .slice(0, ARGS_SHOWN_MAX)
          .map(([key, value]) => (
            <Arg key={key} name={key} value={value} />
          ))}
        {message.categories.length === 0 ? null : (
          <>
            <dt>{t("message.categories")}</dt>
            <dd>
              {message.categories.map((category) => (
                <Link key={category} className="chip" href={messagesPath({ category })}>
                  <Foreign>{category}</Foreign>
                </Link>
              ))}
            </dd>
          </>
        )}
        {template === null || template === "" ? null : (
          <>
            <dt>{t("message.template")}</dt>
            <dd>
              <Foreign>{template}</Foreign>
            </dd>
          </>
        )}
        <dt>{t("message.source")}</dt>
        <dd>{message.source}</dd>
        <dt>{t("message.id")}</dt>
        <dd className="mono">
          <Foreign>{message.id}</Foreign> <CopyId value={message.id} />
        </dd>
      </dl>
    </section>
  );
}

function Arg({ name, value }: { name: string; value: string }): ReactNode {
  return (
    <>
      <dt title={line(name)}>
        <Foreign>{name}</Foreign>
      </dt>
      <dd>
        <Link href={messagesPath({ q: `${name}:${value}` })}>
          <Foreign>{value}</Foreign>
        </Link>
      </dd>
    </>
  );
}
