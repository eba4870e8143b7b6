import { useEffect, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { languageOf } from "../i18n/i18n.ts";
import { LOCALES } from "../i18n/language.ts";
import type { TextContext } from "../text/context.ts";

/** The present, renewed at every tick, for texts such as "3 s ago". A hidden page does not tick. */
function useNow(tickMs: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") setNow(Date.now());
    }, tickMs);
    return () => clearInterval(timer);
  }, [tickMs]);
  return now;
}

const MINUTE_MS = 60_000;

/** What the page's texts are made with: the reader's language, zone and present. The same object until one of them changes. */
export function useText(tickMs = MINUTE_MS): TextContext {
  const { t, i18n } = useTranslation();
  const now = useNow(tickMs);
  const locale = LOCALES[languageOf(i18n)];
  return useMemo(() => ({ t, locale, timeZone: undefined, now }), [t, locale, now]);
}
