import { Button, Tooltip } from "@mantine/core";
import type { ReactNode } from "react";
import { useText } from "./use-text.ts";

interface FileLinkProps {
  href: string;
  /** Whether the reader's role may take figures away. */
  mayTake: boolean;
  /** It stands by itself, so it looks like a button. */
  isAlone?: boolean;
  children: string;
}

/** A file of figures. A plain link: the browser writes it to disk. */
export function FileLink({ href, mayTake, isAlone = false, children }: FileLinkProps): ReactNode {
  const { t } = useText();
  if (mayTake) {
    return (
      <Button
        component="a"
        href={href}
        download
        variant={isAlone ? "default" : "subtle"}
        color="gray"
        size="compact-sm"
      >
        {children}
      </Button>
    );
  }
  return (
    <Tooltip label={t("completeness.fileForbidden")} multiline maw={280} openDelay={300}>
      <Button variant={isAlone ? "default" : "subtle"} color="gray" size="compact-sm" data-disabled aria-disabled>
        {children}
      </Button>
    </Tooltip>
  );
}
