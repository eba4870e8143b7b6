import "../styles/settings.css";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { SettingsAccess } from "../parts/settings-access.tsx";
import { SettingsSources } from "../parts/settings-sources.tsx";
import { SettingsStatus } from "../parts/settings-status.tsx";
import { SettingsTokens } from "../parts/settings-tokens.tsx";
import { useText } from "../parts/use-text.ts";
import { useTitle } from "../parts/use-title.ts";

const SECTIONS = ["tokens", "sources", "access", "status"] as const;
type Section = (typeof SECTIONS)[number];

const CONTENT: Readonly<Record<Section, () => ReactNode>> = {
  tokens: SettingsTokens,
  sources: SettingsSources,
  access: SettingsAccess,
  status: SettingsStatus,
};

/** The section that an address names; the first for any other. */
function sectionOf(path: string): Section {
  return SECTIONS.find((section) => path.startsWith(`/settings/${section}`)) ?? "tokens";
}

/** What an admin looks after: who and what may come in, who looked, and what all this runs on. */
export function SettingsPage({ path }: { path: string }): ReactNode {
  const { t } = useText();
  const section = sectionOf(path);
  const Content = CONTENT[section];
  useTitle(`${t("settings.title")}: ${t(`settings.${section}`)}`);
  return (
    <div className="settings">
      <h1 className="large">{t("settings.title")}</h1>
      <nav className="sections" aria-label={t("settings.sections")}>
        {SECTIONS.map((each) => (
          <Link key={each} href={`/settings/${each}`} aria-current={each === section ? "page" : undefined}>
            {t(`settings.${each}`)}
          </Link>
        ))}
      </nav>
      <Content />
    </div>
  );
}
