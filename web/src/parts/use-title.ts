import { useEffect } from "react";
import { plain } from "../text/hostile.ts";

/** The window's title: the page first, since a tab shows only its beginning. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${plain(title)} · Holdfast`;
  }, [title]);
}
