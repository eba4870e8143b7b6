import { Button, Skeleton } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { ApiError } from "../api/client.ts";

/** Rows of a list that is still on its way. */
export function LoadingRows({ rows = 6 }: { rows?: number }): ReactNode {
  const { t } = useTranslation();
  return (
    <output aria-label={t("state.loading")} className="loading">
      {Array.from({ length: rows }, (_, row) => (
        <Skeleton key={row} height={14} width={`${92 - ((row * 17) % 40)}%`} />
      ))}
    </output>
  );
}

interface LoadedProps<T> {
  data: T | undefined;
  error: unknown;
  again: () => void;
  rows?: number;
  children: (data: T) => ReactNode;
}

/** What was asked for, or that it is on its way, or why it does not come. Old data stays when asking again fails. */
export function Loaded<T>({ data, error, again, rows = 6, children }: LoadedProps<T>): ReactNode {
  if (data !== undefined) return children(data);
  return error === null ? <LoadingRows rows={rows} /> : <Failure error={error} again={again} />;
}

/** Nothing is there: what that means, and what to do. */
export function Nothing({ title, children }: { title: string; children?: ReactNode }): ReactNode {
  return (
    <div className="nothing">
      <p className="nothing-title">{title}</p>
      {children}
    </div>
  );
}

/** What went wrong, in words, with a way on. */
export function Failure({ error, again }: { error: unknown; again?: () => void }): ReactNode {
  const { t } = useTranslation();
  if (error instanceof ApiError && error.status === 403) {
    return (
      <Nothing title={t("state.forbidden")}>
        <p>{t("state.forbiddenHint")}</p>
      </Nothing>
    );
  }
  const unreachable = error instanceof ApiError && error.status === 0;
  return (
    <div className="nothing" role="alert">
      <p className="nothing-title">{unreachable ? t("state.unreachable") : t("state.errorTitle")}</p>
      {error instanceof ApiError && !unreachable && error.message !== "" ? <p lang="en">{error.message}</p> : null}
      {again === undefined ? null : (
        <Button variant="default" size="compact-sm" onClick={again}>
          {t("state.again")}
        </Button>
      )}
    </div>
  );
}
