import { Button, Modal, NativeSelect, Textarea, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { KeyEnd, NewKey, NewSource, SourceKey } from "../../../src/views/contract-settings.ts";
import type { Ordered } from "../../../src/views/contract.ts";
import { api } from "../api/client.ts";
import { KEY_ENDS, type KeyEndChoice, shortFingerprint } from "../text/key-ends.ts";
import { Failure } from "./states.tsx";
import { useText } from "./use-text.ts";

const KEY_CHARS_MAX = 2_000;
const NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;

interface KeyDialogProps {
  title: string;
  submit: string;
  canSubmit: boolean;
  path: string;
  body: () => NewKey | NewSource | KeyEnd;
  onClose: () => void;
  children: ReactNode;
}

/** A dialog that orders one change of keys. */
function KeyDialog({ title, submit, canSubmit, path, body, onClose, children }: KeyDialogProps): ReactNode {
  const { t } = useText();
  const client = useQueryClient();
  const order = useMutation({
    mutationFn: () => api<Ordered>("POST", path, { body: body() }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ["sources"] });
      onClose();
    },
  });
  return (
    <Modal opened onClose={onClose} title={title} size={640} closeButtonProps={{ "aria-label": t("settings.close") }}>
      <form
        className="dialog-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (canSubmit) order.mutate();
        }}
      >
        {children}
        {order.error === null ? null : <Failure error={order.error} />}
        <div className="dialog-actions">
          <Button variant="default" onClick={onClose}>
            {t("settings.cancel")}
          </Button>
          <Button type="submit" disabled={!canSubmit} loading={order.isPending}>
            {submit}
          </Button>
        </div>
      </form>
    </Modal>
  );
}

function PublicKeyField({ value, onChange }: { value: string; onChange: (text: string) => void }): ReactNode {
  const { t } = useText();
  return (
    <Textarea
      label={t("keys.publicKey")}
      description={t("keys.addHint")}
      placeholder="MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE…"
      value={value}
      maxLength={KEY_CHARS_MAX}
      rows={4}
      spellCheck={false}
      className="mono-field"
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

const isChoice = (text: string): text is KeyEndChoice => Object.hasOwn(KEY_ENDS, text);
const until = (choice: KeyEndChoice): string => new Date(Date.now() + KEY_ENDS[choice]).toISOString();

/** A further key, and what becomes of the present ones: a rotation lets both hold for a while. */
export function AddKey({ source, onClose }: { source: string; onClose: () => void }): ReactNode {
  const { t } = useText();
  const [publicKey, setPublicKey] = useState("");
  const [others, setOthers] = useState("keep");
  return (
    <KeyDialog
      title={t("keys.addTitle", { source })}
      submit={t("keys.save")}
      canSubmit={publicKey.trim() !== ""}
      path={`/api/sources/${encodeURIComponent(source)}/keys`}
      body={() => ({ publicKey, ...(isChoice(others) ? { othersUntil: until(others) } : {}) })}
      onClose={onClose}
    >
      <PublicKeyField value={publicKey} onChange={setPublicKey} />
      <NativeSelect
        label={t("keys.others")}
        description={t("keys.othersHint")}
        value={others}
        onChange={(event) => setOthers(event.currentTarget.value)}
        data={[
          { value: "keep", label: t("keys.othersKeep") },
          { value: "hour", label: t("keys.othersHour") },
          { value: "day", label: t("keys.othersDay") },
          { value: "week", label: t("keys.othersWeek") },
        ]}
      />
    </KeyDialog>
  );
}

/** A new source with its first key. */
export function AddSource({ onClose }: { onClose: () => void }): ReactNode {
  const { t } = useText();
  const [name, setName] = useState("");
  const [publicKey, setPublicKey] = useState("");
  const asked = name.trim();
  return (
    <KeyDialog
      title={t("keys.addSourceTitle")}
      submit={t("keys.addSource")}
      canSubmit={NAME.test(asked) && publicKey.trim() !== ""}
      path="/api/sources"
      body={() => ({ name: asked, publicKey })}
      onClose={onClose}
    >
      <p className="muted">{t("keys.addSourceHint")}</p>
      <TextInput
        label={t("keys.sourceName")}
        description={t("keys.sourceNameHint")}
        value={name}
        maxLength={63}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      {NAME.test(asked) ? (
        <p>
          {t("keys.address")}{" "}
          <code>
            {window.location.origin}/webhooks/sendgrid/{asked}
          </code>
        </p>
      ) : null}
      <PublicKeyField value={publicKey} onChange={setPublicKey} />
    </KeyDialog>
  );
}

interface EndKeyProps {
  keyToEnd: SourceKey;
  isLast: boolean;
  onClose: () => void;
}

/** Until when a key holds. */
export function EndKey({ keyToEnd, isLast, onClose }: EndKeyProps): ReactNode {
  const { t } = useText();
  const [choice, setChoice] = useState("day");
  const end = (): string => {
    if (choice === "never") return "never";
    return isChoice(choice) ? until(choice) : new Date().toISOString();
  };
  return (
    <KeyDialog
      title={t("keys.endTitle")}
      submit={t("keys.endSave")}
      canSubmit
      path={`/api/keys/${encodeURIComponent(keyToEnd.id)}/end`}
      body={() => ({ validUntil: end() })}
      onClose={onClose}
    >
      <p className="mono-text" title={keyToEnd.fingerprint}>
        {shortFingerprint(keyToEnd.fingerprint)}
      </p>
      <NativeSelect
        label={t("keys.until")}
        description={t("keys.endHint")}
        value={choice}
        onChange={(event) => setChoice(event.currentTarget.value)}
        data={[
          { value: "now", label: t("keys.endNow") },
          { value: "hour", label: t("keys.endHour") },
          { value: "day", label: t("keys.endDay") },
          { value: "week", label: t("keys.endWeek") },
          { value: "never", label: t("keys.endNever") },
        ]}
      />
      {isLast && choice !== "never" ? <p className="late">{t("keys.lastWarning")}</p> : null}
    </KeyDialog>
  );
}
