import {
  MutationCache,
  QueryCache,
  QueryClient,
  QueryClientProvider,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { lazy, type ReactNode, Suspense, useCallback, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link, Route, Switch, useLocation } from "wouter";
import { usePathname, useSearch } from "wouter/use-browser-location";
import type { Session } from "../../src/views/contract.ts";
import { api, ApiError } from "./api/client.ts";
import { AlertsPage } from "./pages/alerts.tsx";
import { LivePage } from "./pages/live.tsx";
import { LoginPage } from "./pages/login.tsx";
import { MessagePage } from "./pages/message.tsx";
import { MessagesPage } from "./pages/messages.tsx";
import { QuarantinePage } from "./pages/quarantine.tsx";
import { RecipientPage } from "./pages/recipient.tsx";
import { Boundary } from "./parts/boundary.tsx";
import { LiveProvider } from "./parts/live.tsx";
import { Outage, READINESS_KEY } from "./parts/outage.tsx";
import { PreferencesProvider } from "./parts/preferences.tsx";
import { Shell } from "./parts/shell.tsx";
import { Failure, LoadingRows, Nothing } from "./parts/states.tsx";
import { messageIdOf, recipientOf } from "./text/message-filters.ts";

// Few people ever open these, so nobody else waits for their script.
const CompletenessPage = lazy(async () =>
  import("./pages/completeness.tsx").then((page) => ({ default: page.CompletenessPage })),
);
const CompletenessDayPage = lazy(async () =>
  import("./pages/completeness-day.tsx").then((page) => ({ default: page.CompletenessDayPage })),
);
const SettingsPage = lazy(async () => import("./pages/settings.tsx").then((page) => ({ default: page.SettingsPage })));
const SimulationPage = lazy(async () =>
  import("./pages/simulation.tsx").then((page) => ({ default: page.SimulationPage })),
);

const isSignedOut = (error: unknown): boolean => error instanceof ApiError && error.status === 401;

// A question that was answered with an error gets the same answer again; only silence is worth another try.
const retry = (failures: number, error: unknown): boolean =>
  failures < 2 && !(error instanceof ApiError && error.status >= 400 && error.status < 500);

function useQueryClientOnce(onSignedOut: () => void): QueryClient {
  const [client] = useState(() => {
    const onError = (error: unknown): void => {
      if (isSignedOut(error)) onSignedOut();
      // Perhaps the database is away: that is asked at once, and said above the page.
      if (error instanceof ApiError && error.status === 503) void made.invalidateQueries({ queryKey: READINESS_KEY });
    };
    const made = new QueryClient({
      queryCache: new QueryCache({ onError }),
      mutationCache: new MutationCache({ onError }),
      defaultOptions: { queries: { retry, staleTime: 5_000 }, mutations: { retry: false } },
    });
    return made;
  });
  return client;
}

export function App(): ReactNode {
  const [, navigate] = useLocation();
  const onSignedOut = useCallback(() => {
    const { pathname, search } = window.location;
    if (pathname === "/login") return;
    navigate(
      pathname === "/" && search === ""
        ? "/login"
        : `/login?${new URLSearchParams({ next: pathname + search }).toString()}`,
    );
  }, [navigate]);
  const client = useQueryClientOnce(onSignedOut);
  return (
    <QueryClientProvider client={client}>
      <Switch>
        <Route path="/login">
          <Outage />
          <LoginPage />
        </Route>
        <Route>
          <SignedIn onSignedOut={onSignedOut} />
        </Route>
      </Switch>
    </QueryClientProvider>
  );
}

function SignedIn({ onSignedOut }: { onSignedOut: () => void }): ReactNode {
  const client = useQueryClient();
  const session = useQuery({
    queryKey: ["session"],
    queryFn: () => api<Session>("GET", "/api/session"),
    staleTime: Infinity,
  });
  const onSignOut = (): void => {
    void api("DELETE", "/api/session")
      .catch(() => undefined)
      .then(() => {
        client.clear();
        onSignedOut();
      });
  };
  if (session.data === undefined) {
    // While the reader is being sent to the login page there is nothing to say.
    const error = session.error !== null && !isSignedOut(session.error) ? session.error : undefined;
    return (
      <main className="alone">
        <Outage />
        {error === undefined ? (
          <LoadingRows rows={3} />
        ) : (
          <Failure error={error} again={() => void session.refetch()} />
        )}
      </main>
    );
  }
  return (
    <PreferencesProvider>
      <LiveProvider onSignedOut={onSignedOut}>
        <Shell session={session.data} onSignOut={onSignOut}>
          <Pages session={session.data} />
        </Shell>
      </LiveProvider>
    </PreferencesProvider>
  );
}

/** A new page begins at its top; another filter of the same page does not move it. */
function StartAtTop(): ReactNode {
  useEffect(() => window.scrollTo(0, 0), []);
  return null;
}

function Pages({ session }: { session: Session }): ReactNode {
  const { t } = useTranslation();
  // Not the router's own hooks: they decode the address once, and an id or a search with a % would be decoded twice.
  const path = usePathname();
  const search = useSearch();
  const id = messageIdOf(path);
  const address = recipientOf(path);
  return (
    <>
      <StartAtTop key={path} />
      <Boundary key={`of ${path}`}>
        <Switch>
          <Route path="/">
            <LivePage />
          </Route>
          <Route path="/messages">
            <MessagesPage search={search} mayExport={session.role !== "support"} />
          </Route>
          {id === undefined ? null : (
            <Route path="/messages/:id">
              <MessagePage key={id} id={id} mayTake={session.role !== "support"} />
            </Route>
          )}
          {address === undefined ? null : (
            <Route path="/recipients/:address">
              <RecipientPage key={address} address={address} />
            </Route>
          )}
          <Route path="/completeness">
            <Suspense fallback={<LoadingRows />}>
              <CompletenessPage search={search} mayOrder={session.role !== "support"} />
            </Suspense>
          </Route>
          <Route path={/^\/completeness\/(?<day>\d{4}-\d\d-\d\d)\/?$/}>
            {({ day }) => (
              <Suspense fallback={<LoadingRows />}>
                <CompletenessDayPage key={day} day={day ?? ""} mayTake={session.role !== "support"} />
              </Suspense>
            )}
          </Route>
          <Route path="/quarantine">
            <QuarantinePage isAdmin={session.role === "admin"} />
          </Route>
          <Route path="/alerts">
            <AlertsPage isAdmin={session.role === "admin"} />
          </Route>
          <Route path={/^\/settings(?:\/(?:tokens|sources|access|status))?\/?$/}>
            <Suspense fallback={<LoadingRows />}>
              <SettingsPage path={path} />
            </Suspense>
          </Route>
          <Route path="/simulation">
            <Suspense fallback={<LoadingRows />}>
              <SimulationPage />
            </Suspense>
          </Route>
          <Route>
            <Nothing title={t("state.notFound")}>
              <Link href="/">{t("state.toLive")}</Link>
            </Nothing>
          </Route>
        </Switch>
      </Boundary>
    </>
  );
}
