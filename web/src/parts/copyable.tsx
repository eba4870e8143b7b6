import { Button, CopyButton } from "@mantine/core";
import type { ReactNode } from "react";
import { CopyIcon, DoneIcon } from "./icons.tsx";
import { useText } from "./use-text.ts";

/** A text to be taken elsewhere, with a button that does. */
export function Copyable({ value }: { value: string }): ReactNode {
  const { t } = useText();
  return (
    <span className="copyable">
      <code>{value}</code>
      <CopyButton value={value}>
        {({ copied, copy }) => (
          <Button variant="subtle" size="compact-sm" leftSection={copied ? <DoneIcon /> : <CopyIcon />} onClick={copy}>
            {copied ? t("message.copied") : t("message.copy")}
          </Button>
        )}
      </CopyButton>
    </span>
  );
}
