import { useEffect } from "react";

const ROW_LINKS = "main table.ledger tbody tr > td a[href]:first-of-type";

/**
 * Arrow up and down walk through the rows of a list, from the search field into it and back; Enter then opens the row,
 * since it is a link that has the focus. One listener for all lists: there is never more than one on a page.
 */
export function useRowWalk(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step === undefined || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
      const { target } = event;
      if (!(target instanceof HTMLElement)) return;
      const isSearch = target.matches("input[type=search]");
      const row = target.closest("table.ledger tbody tr");
      if (!isSearch && row === null) return;
      const links = firstLinks();
      const here = links.findIndex((link) => link.closest("tr") === row);
      if (isSearch && step < 0) return;
      const next = isSearch ? links[0] : links[here + step];
      if (next === undefined && step > 0) return;
      event.preventDefault();
      (next ?? document.querySelector<HTMLElement>("input[type=search]"))?.focus();
      next?.closest("tr")?.scrollIntoView({ block: "nearest" });
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
}

/** The link of each row: the first where there are several. */
function firstLinks(): HTMLElement[] {
  const byRow = new Map<Element | null, HTMLElement>();
  for (const link of document.querySelectorAll<HTMLElement>(ROW_LINKS)) {
    const row = link.closest("tr");
    if (!byRow.has(row)) byRow.set(row, link);
  }
  return [...byRow.values()];
}
