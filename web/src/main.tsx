import "@fontsource-variable/inter/index.css";
import "./styles/kit.css";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/live.css";
import "./styles/rates.css";
import "./styles/lists.css";
import "./styles/message.css";
import "./styles/recipient.css";
import "./styles/print.css";
import { MantineProvider } from "@mantine/core";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { I18nextProvider } from "react-i18next";
import { App } from "./app.tsx";
import { startTranslator } from "./i18n/i18n.ts";
import { colorScheme, paperVariables, theme } from "./theme.ts";

const translator = await startTranslator();
const root = document.querySelector("#root");
if (root === null) throw new Error("index.html has no element #root");

createRoot(root).render(
  <StrictMode>
    <I18nextProvider i18n={translator}>
      <MantineProvider
        theme={theme}
        cssVariablesResolver={paperVariables}
        colorSchemeManager={colorScheme}
        defaultColorScheme="auto"
      >
        <App />
      </MantineProvider>
    </I18nextProvider>
  </StrictMode>,
);
