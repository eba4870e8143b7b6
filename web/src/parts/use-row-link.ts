import type { MouseEvent } from "react";
import { useLocation } from "wouter";

/**
 * Makes a whole table row clickable beside the link in it, which stays the way for keyboards and new tabs.
 * Marking text in a row, to copy it, does not count as a click.
 */
export function useRowLink(): (path: string) => (event: MouseEvent<HTMLElement>) => void {
  const [, navigate] = useLocation();
  return (path) => (event) => {
    const onControl = event.target instanceof Element && event.target.closest("a, button") !== null;
    if (
      onControl ||
      event.ctrlKey ||
      event.metaKey ||
      event.shiftKey ||
      (window.getSelection()?.toString() ?? "") !== ""
    )
      return;
    navigate(path);
  };
}
