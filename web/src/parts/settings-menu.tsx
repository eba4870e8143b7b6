import { ActionIcon, Menu, useMantineColorScheme } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "wouter";
import type { Session } from "../../../src/views/contract.ts";
import { changeLanguage, languageOf } from "../i18n/i18n.ts";
import { LANGUAGES } from "../i18n/language.ts";
import { Foreign } from "./foreign.tsx";
import { SettingsIcon } from "./icons.tsx";
import { useLive } from "./live.tsx";
import { usePreferences } from "./preferences.tsx";

const LANGUAGE_NAMES = { en: "English", de: "Deutsch" } as const;

/** EN · DE, one click away: two people of one team often want different ones. */
export function LanguageSwitch(): ReactNode {
  const { t, i18n } = useTranslation();
  const current = languageOf(i18n);
  return (
    <fieldset className="languages" aria-label={t("header.language")}>
      {LANGUAGES.map((language) => (
        <button
          key={language}
          type="button"
          lang={language}
          title={LANGUAGE_NAMES[language]}
          aria-label={`${language.toUpperCase()} ${LANGUAGE_NAMES[language]}`}
          aria-pressed={language === current}
          onClick={() => void changeLanguage(i18n, language)}
        >
          {language.toUpperCase()}
        </button>
      ))}
    </fieldset>
  );
}

export function SettingsMenu({ session, onSignOut }: { session: Session; onSignOut: () => void }): ReactNode {
  const { t } = useTranslation();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const { simulated, setSimulated } = usePreferences();
  const hasSimulated = useLive(
    (state) => state.status?.sources.some((source) => source.simulated && source.lastReceiptAt !== null) ?? false,
  );
  const byDefault = useLive((state) => state.status?.simulatedByDefault ?? false);
  const roles = {
    support: t("header.roleSupport"),
    compliance: t("header.roleCompliance"),
    admin: t("header.roleAdmin"),
  };
  return (
    <Menu position="bottom-end" withinPortal shadow="md" width={248}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={t("header.settings")} title={t("header.settings")}>
          <SettingsIcon />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{t("header.scheme")}</Menu.Label>
        <Menu.RadioGroup
          value={colorScheme}
          onChange={(scheme) => setColorScheme(scheme === "light" || scheme === "dark" ? scheme : "auto")}
        >
          <Menu.RadioItem value="auto">{t("header.schemeAuto")}</Menu.RadioItem>
          <Menu.RadioItem value="light">{t("header.schemeLight")}</Menu.RadioItem>
          <Menu.RadioItem value="dark">{t("header.schemeDark")}</Menu.RadioItem>
        </Menu.RadioGroup>
        {hasSimulated && !byDefault ? (
          <>
            <Menu.Divider />
            <Menu.CheckboxItem value="simulated" checked={simulated} onChange={() => setSimulated(!simulated)}>
              {t("simulated.switch")}
            </Menu.CheckboxItem>
          </>
        ) : null}
        {session.role === "admin" ? (
          <>
            <Menu.Divider />
            <Menu.Item component={Link} href="/simulation">
              {t("simulation.nav")}
            </Menu.Item>
            <Menu.Item component={Link} href="/settings">
              {t("settings.title")}
            </Menu.Item>
          </>
        ) : null}
        <Menu.Divider />
        <Menu.Label>
          <Foreign>{t("header.signedIn", { name: session.name, role: roles[session.role] })}</Foreign>
        </Menu.Label>
        <Menu.Item onClick={onSignOut}>{t("header.signOut")}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
