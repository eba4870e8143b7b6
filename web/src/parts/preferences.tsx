import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react";

const STORAGE_KEY = "holdfast.simulated";

interface Preferences {
  /** The reader wants to see simulated mails instead of real ones. */
  simulated: boolean;
  setSimulated: (simulated: boolean) => void;
}

const PreferencesContext = createContext<Preferences>({ simulated: false, setSimulated: () => undefined });

function stored(): boolean {
  try {
    return sessionStorage.getItem(STORAGE_KEY) === "true";
  } catch {
    return false;
  }
}

/** Kept for the tab only: whoever opens the page tomorrow sees real mails. */
export function PreferencesProvider({ children }: { children: ReactNode }): ReactNode {
  const [simulated, change] = useState(stored);
  const setSimulated = useCallback((value: boolean) => {
    try {
      sessionStorage.setItem(STORAGE_KEY, String(value));
    } catch {
      // Without storage the choice holds until the page is loaded again.
    }
    change(value);
  }, []);
  const preferences = useMemo(() => ({ simulated, setSimulated }), [simulated, setSimulated]);
  return <PreferencesContext value={preferences}>{children}</PreferencesContext>;
}

export function usePreferences(): Preferences {
  return useContext(PreferencesContext);
}

/** The API's `simulated` parameter; nothing when the reader has chosen nothing, so that the server's rule holds. */
export function withSimulated(query: URLSearchParams, simulated: boolean): URLSearchParams {
  if (simulated) query.set("simulated", "true");
  return query;
}
