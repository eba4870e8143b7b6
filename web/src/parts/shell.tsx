import type { ReactNode } from "react";
import { Link, useLocation, useRoute } from "wouter";
import type { Session } from "../../../src/views/contract.ts";
import { formatCount } from "../text/number.ts";
import { zoneName } from "../text/time.ts";
import { ConnectionState } from "./connection.tsx";
import { Logo } from "./icons.tsx";
import { useLive } from "./live.tsx";
import { LostAlarm, SimulatedNotice } from "./notices.tsx";
import { Outage } from "./outage.tsx";
import { SearchBox } from "./search-box.tsx";
import { LanguageSwitch, SettingsMenu } from "./settings-menu.tsx";
import { useRowWalk } from "./use-row-walk.ts";
import { useText } from "./use-text.ts";

interface RailLinkProps {
  href: string;
  /** What the addresses begin with that belong to the same name. */
  also?: readonly string[];
  count?: number;
  children: string;
}

const ONLY_ITSELF: readonly string[] = [];

function RailLink({ href, also = ONLY_ITSELF, count = 0, children }: RailLinkProps): ReactNode {
  const { locale } = useText();
  const [here] = useRoute(href);
  const [path] = useLocation();
  const below = also.some((beginning) => path.startsWith(beginning));
  return (
    <Link href={href} className={here || below ? "on" : ""} aria-current={here ? "page" : undefined}>
      {children}
      {count > 0 ? <span className="count">{formatCount(count, locale)}</span> : null}
    </Link>
  );
}

const MESSAGE_PAGES = ["/messages/", "/recipients/"];

const COMPLETENESS_PAGES = ["/completeness/"];

const SETTINGS_PAGES = ["/settings/"];

function Rail({ isAdmin }: { isAdmin: boolean }): ReactNode {
  const text = useText();
  const { t } = text;
  const quarantined = useLive((state) => state.status?.quarantineOpen);
  const alerts = useLive((state) => state.status?.alertsOpen);
  const version = useLive((state) => state.status?.version);
  const postgres = useLive((state) => state.status?.postgres);
  return (
    <nav className="rail" aria-label={t("nav.label")}>
      <Link href="/" className="brand">
        <Logo />
        <span>Holdfast</span>
      </Link>
      <div className="rail-links">
        <RailLink href="/">{t("nav.live")}</RailLink>
        <RailLink href="/messages" also={MESSAGE_PAGES}>
          {t("nav.messages")}
        </RailLink>
        <RailLink href="/completeness" also={COMPLETENESS_PAGES}>
          {t("completeness.title")}
        </RailLink>
        <RailLink href="/quarantine" count={quarantined ?? 0}>
          {t("nav.quarantine")}
        </RailLink>
        <RailLink href="/alerts" count={alerts ?? 0}>
          {t("nav.alerts")}
        </RailLink>
        {isAdmin ? (
          <div className="rail-admin">
            <RailLink href="/simulation">{t("simulation.nav")}</RailLink>
            <RailLink href="/settings" also={SETTINGS_PAGES}>
              {t("settings.title")}
            </RailLink>
          </div>
        ) : null}
      </div>
      <div className="foot">
        {postgres === undefined ? null : <div>PostgreSQL {postgres}</div>}
        {version === undefined ? null : <div>Holdfast {version}</div>}
        <div>{zoneName(text.now, text)}</div>
      </div>
    </nav>
  );
}

/** What surrounds every page: the rail of names, the search on top, and whether it is current. */
export function Shell({
  session,
  onSignOut,
  children,
}: {
  session: Session;
  onSignOut: () => void;
  children: ReactNode;
}): ReactNode {
  const { t } = useText();
  useRowWalk();
  return (
    <div className="app">
      <a className="skip" href="#content">
        {t("header.skip")}
      </a>
      <Rail isAdmin={session.role === "admin"} />
      <div className="page">
        <Outage />
        <LostAlarm />
        <header className="top">
          <SearchBox />
          <div className="top-side">
            <ConnectionState />
            <LanguageSwitch />
            <SettingsMenu session={session} onSignOut={onSignOut} />
          </div>
        </header>
        <SimulatedNotice />
        <main id="content" tabIndex={-1}>
          {children}
        </main>
      </div>
    </div>
  );
}
