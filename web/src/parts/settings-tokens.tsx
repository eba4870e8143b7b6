import { Button, Modal, NativeSelect, Table, TextInput, Tooltip } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { CreatedToken, EndedTokens, NewToken, Token, TokenList } from "../../../src/views/contract-settings.ts";
import type { TokenRole } from "../../../src/views/contract.ts";
import { api } from "../api/client.ts";
import { Copyable } from "./copyable.tsx";
import { Foreign } from "./foreign.tsx";
import { Failure, Loaded } from "./states.tsx";
import { Time } from "./time.tsx";
import { useText } from "./use-text.ts";

const ROLES = ["support", "compliance", "admin"] as const satisfies readonly TokenRole[];
const NAME_CHARS_MAX = 100;
const TOKENS = ["tokens"] as const;
type Days = NonNullable<NewToken["days"]>;
const DAYS = [30, 90, 365] as const satisfies readonly Days[];

/** Who can get in, with which role, and the means to change that. */
export function SettingsTokens(): ReactNode {
  const { t } = useText();
  const list = useQuery({
    queryKey: TOKENS,
    queryFn: ({ signal }) => api<TokenList>("GET", "/api/tokens", { signal }),
  });
  return (
    <>
      <p className="lead">{t("tokens.lead")}</p>
      <Loaded data={list.data} error={list.error} again={() => void list.refetch()}>
        {({ tokens }) => {
          // One's own first, then the newest.
          const sessions = tokens.filter(({ kind }) => kind === "session").toReversed();
          sessions.sort((a, b) => Number(b.own) - Number(a.own));
          return (
            <>
              <NewTokenForm />
              <section aria-labelledby="tokens">
                <h2 id="tokens">{t("tokens.people")}</h2>
                <TokenTable tokens={tokens.filter(({ kind }) => kind !== "session")} />
              </section>
              <section aria-labelledby="sessions">
                <h2 id="sessions">{t("tokens.sessions")}</h2>
                {sessions.length === 0 ? (
                  <p className="muted">{t("tokens.noSessions")}</p>
                ) : (
                  <TokenTable tokens={sessions} />
                )}
              </section>
            </>
          );
        }}
      </Loaded>
    </>
  );
}

function NewTokenForm(): ReactNode {
  const { t } = useText();
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [role, setRole] = useState<TokenRole>("support");
  const [days, setDays] = useState<Days>();
  const create = useMutation({
    mutationFn: (asked: NewToken) =>
      api<CreatedToken>("POST", "/api/tokens", { body: asked }).then((created) => ({ ...asked, ...created })),
    onSuccess: () => {
      setName("");
      void client.invalidateQueries({ queryKey: TOKENS });
    },
  });
  const asked = name.trim();
  return (
    <>
      <form
        className="line-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (asked !== "") create.mutate({ name: asked, role, ...(days === undefined ? {} : { days }) });
        }}
      >
        <TextInput
          size="sm"
          label={t("tokens.name")}
          placeholder={t("tokens.namePlaceholder")}
          value={name}
          maxLength={NAME_CHARS_MAX}
          autoComplete="off"
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <NativeSelect
          size="sm"
          label={t("settings.role")}
          value={role}
          data={ROLES.map((value) => ({ value, label: t(`settings.roles.${value}`) }))}
          onChange={(event) => setRole(ROLES.find((value) => value === event.currentTarget.value) ?? "support")}
        />
        <DaysSelect days={days} onChange={setDays} />
        <Button type="submit" size="sm" disabled={asked === ""} loading={create.isPending}>
          {t("tokens.create")}
        </Button>
      </form>
      <p className="muted">{t("settings.rolesHint")}</p>
      {create.error === null ? null : <Failure error={create.error} />}
      {create.data === undefined ? null : <ShownToken token={create.data} onClose={() => create.reset()} />}
    </>
  );
}

/** Shown this once. */
function ShownToken({ token, onClose }: { token: NewToken & CreatedToken; onClose: () => void }): ReactNode {
  const { t } = useText();
  return (
    <Modal
      opened
      onClose={onClose}
      title={<Foreign>{t("tokens.created", { name: token.name })}</Foreign>}
      size={640}
      closeButtonProps={{ "aria-label": t("settings.close") }}
    >
      <p>{t("tokens.createdHint", { role: t(`settings.roles.${token.role}`) })}</p>
      <p className="secret">
        <Copyable value={token.token} />
      </p>
    </Modal>
  );
}

function DaysSelect(props: { days: Days | undefined; onChange: (days: Days | undefined) => void }): ReactNode {
  const { t } = useText();
  return (
    <NativeSelect
      size="sm"
      label={t("tokenEnd.label")}
      value={props.days ?? ""}
      data={[
        { value: "", label: t("tokenEnd.never") },
        ...DAYS.map((days) => ({ value: String(days), label: t("tokenEnd.days", { formatted: String(days) }) })),
      ]}
      onChange={(event) => props.onChange(DAYS.find((days) => String(days) === event.currentTarget.value))}
    />
  );
}

function TokenTable({ tokens }: { tokens: readonly Token[] }): ReactNode {
  const text = useText();
  const { t } = text;
  const [ending, setEnding] = useState<Token>();
  return (
    <>
      <Table className="ledger cards">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t("tokens.name")}</Table.Th>
            <Table.Th>{t("settings.role")}</Table.Th>
            <Table.Th>{t("tokens.made")}</Table.Th>
            <Table.Th>{t("tokens.used")}</Table.Th>
            <Table.Th>{t("tokens.expires")}</Table.Th>
            <Table.Th>
              <span className="hidden">{t("tokens.revoke")}</span>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {tokens.map((token) => (
            <Table.Tr key={token.id}>
              <Table.Td className="name">
                <Foreign>{token.name}</Foreign>
                <TokenTags token={token} />
              </Table.Td>
              <Table.Td data-label={t("settings.role")}>{t(`settings.roles.${token.role}`)}</Table.Td>
              <Table.Td data-label={t("tokens.made")}>
                <Time value={token.createdAt} text={text} as="list" />
              </Table.Td>
              <Table.Td data-label={t("tokens.used")}>
                {token.usedAt === null ? t("settings.never") : <Time value={token.usedAt} text={text} as="list" />}
              </Table.Td>
              <Table.Td data-label={t("tokens.expires")}>
                {token.expiresAt === null ? (
                  t("settings.never")
                ) : (
                  <Time value={token.expiresAt} text={text} as="list" />
                )}
              </Table.Td>
              <Table.Td className="action">
                {token.fixed || token.ended ? null : (
                  <Button
                    variant="subtle"
                    size="compact-sm"
                    aria-label={t("tokens.revokeAria", { kind: t(`tokens.kinds.${token.kind}`), name: token.name })}
                    onClick={() => setEnding(token)}
                  >
                    {t("tokens.revoke")}
                  </Button>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {ending === undefined ? null : <EndToken token={ending} onClose={() => setEnding(undefined)} />}
    </>
  );
}

function TokenTags({ token }: { token: Token }): ReactNode {
  const { t } = useText();
  return (
    <>
      {token.kind === "link" ? <span className="tag">{t("tokens.kinds.link")}</span> : null}
      {token.own ? <span className="tag">{t("tokens.own")}</span> : null}
      {token.ended ? <span className="tag late">{t("tokenEnd.ended")}</span> : null}
      {token.fixed ? (
        <Tooltip label={t("tokens.fixedHint")} multiline maw={320}>
          <span className="tag">{t("tokens.fixed")}</span>
        </Tooltip>
      ) : null}
    </>
  );
}

function EndToken({ token, onClose }: { token: Token; onClose: () => void }): ReactNode {
  const { t } = useText();
  const client = useQueryClient();
  const end = useMutation({
    mutationFn: () => api<EndedTokens>("DELETE", `/api/tokens/${encodeURIComponent(token.id)}`),
    onSuccess: async () => {
      onClose();
      // One's own end shows at the next question: this one.
      await client.invalidateQueries();
    },
  });
  const { name } = token;
  return (
    <Modal
      opened
      onClose={onClose}
      title={t("tokens.confirmTitle", { kind: t(`tokens.kinds.${token.kind}`) })}
      closeButtonProps={{ "aria-label": t("settings.close") }}
    >
      <p>
        <Foreign>
          {token.openedWith === null
            ? t("tokens.confirm", { name })
            : t(`tokens.confirmSession.${token.openedWith}`, { name })}
        </Foreign>
      </p>
      {token.own ? <p className="late">{t("tokens.confirmOwn")}</p> : null}
      {end.error === null ? null : <Failure error={end.error} />}
      <div className="dialog-actions">
        <Button variant="default" onClick={onClose}>
          {t("settings.cancel")}
        </Button>
        <Button loading={end.isPending} onClick={() => end.mutate()}>
          {t("tokens.revoke")}
        </Button>
      </div>
    </Modal>
  );
}
