import { createTheme, type CSSVariablesResolver, localStorageColorSchemeManager } from "@mantine/core";

/** The ten steps the component kit asks for, around the accent of styles/tokens.css (6 on paper, 3 on dark). */
const INK = [
  "#eaf0fb",
  "#d3dff5",
  "#b3c9f6",
  "#93b5f7",
  "#5f8be0",
  "#3767bf",
  "#1f4b99",
  "#1a4083",
  "#15356d",
  "#102a57",
] as const;

export const theme = createTheme({
  primaryColor: "ink",
  primaryShade: { light: 6, dark: 3 },
  colors: { ink: INK },
  autoContrast: true,
  fontFamily: '"Inter Variable", Inter, system-ui, sans-serif',
  fontFamilyMonospace: "var(--mono)",
  fontSizes: { xs: "13px", sm: "13px", md: "15px", lg: "20px", xl: "40px" },
  headings: { fontWeight: "600" },
  defaultRadius: 8,
  cursorType: "pointer",
  focusRing: "auto",
  respectReducedMotion: true,
});

const paper = {
  "--mantine-color-body": "var(--paper)",
  "--mantine-color-text": "var(--ink)",
  "--mantine-color-dimmed": "var(--muted)",
  "--mantine-color-placeholder": "var(--muted)",
  "--mantine-color-anchor": "var(--accent)",
  "--mantine-color-default": "var(--surface)",
  "--mantine-color-default-hover": "var(--paper)",
  "--mantine-color-default-color": "var(--ink)",
  "--mantine-color-default-border": "var(--line2)",
};

/** The kit's own colours, from the tokens, so that both change at one place. */
export const paperVariables: CSSVariablesResolver = () => ({ variables: {}, light: paper, dark: paper });

/** Read before the first paint by public/before-paint.js. */
export const colorScheme = localStorageColorSchemeManager({ key: "holdfast.scheme" });
