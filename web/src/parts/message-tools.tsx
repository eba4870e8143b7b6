import { Button, Menu, Tooltip } from "@mantine/core";
import type { ReactNode } from "react";
import { useLocation } from "wouter";
import { type Column, COLUMNS, DEFAULT_COLUMNS, keepColumns } from "../text/columns.ts";
import { apiQuery, type MessageFilters, messagesPath } from "../text/message-filters.ts";
import { columnName } from "./message-table.tsx";
import { usePreferences, withSimulated } from "./preferences.tsx";
import { useText } from "./use-text.ts";

/** Which columns the list shows. The choice is remembered, and stands in the address, so that a link shows the same. */
export function ColumnMenu({ filters, columns }: { filters: MessageFilters; columns: readonly Column[] }): ReactNode {
  const text = useText();
  const { t } = text;
  const [, navigate] = useLocation();
  const choose = (chosen: readonly Column[]): void => {
    keepColumns(chosen);
    navigate(messagesPath({ ...filters, columns: chosen.join(",") }), { replace: true });
  };
  const toggle = (column: Column): void => {
    const chosen = COLUMNS.filter((each) => columns.includes(each) !== (each === column));
    // A list of addresses alone would say nothing.
    if (chosen.length > 0) choose(chosen);
  };
  return (
    <Menu position="bottom-end" withinPortal shadow="md" width={208} closeOnItemClick={false}>
      <Menu.Target>
        <Button variant="subtle" color="gray" size="compact-sm" rightSection={<span aria-hidden="true">▾</span>}>
          {t("columns.choose")}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {COLUMNS.map((column) => (
          <Menu.CheckboxItem
            key={column}
            value={column}
            checked={columns.includes(column)}
            onChange={() => toggle(column)}
          >
            {columnName(column, text)}
          </Menu.CheckboxItem>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={() => choose(DEFAULT_COLUMNS)}>{t("columns.reset")}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** The result of the search as a file. A plain link: the browser writes it to disk as it comes. */
export function ExportLink({ filters, mayExport }: { filters: MessageFilters; mayExport: boolean }): ReactNode {
  const { t, now } = useText();
  const { simulated } = usePreferences();
  const query = withSimulated(apiQuery(filters, now), simulated).toString();
  const path = `/api/messages.csv${query === "" ? "" : `?${query}`}`;
  return (
    <Tooltip label={mayExport ? t("export.hint") : t("export.forbidden")} multiline maw={280} openDelay={300}>
      {mayExport ? (
        <Button component="a" href={path} download variant="subtle" color="gray" size="compact-sm">
          {t("export.csv")}
        </Button>
      ) : (
        <Button variant="subtle" color="gray" size="compact-sm" data-disabled aria-disabled>
          {t("export.csv")}
        </Button>
      )}
    </Tooltip>
  );
}
