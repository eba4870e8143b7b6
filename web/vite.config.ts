import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "../dist/web",
    emptyOutDir: true,
    target: "es2022",
    // The content security policy allows fonts and images from this origin only, so nothing may become a data: address.
    assetsInlineLimit: 0,
    // A preload polyfill would be an inline script in all but name, and every supported browser preloads by itself.
    // The whole page in one script: a test keeps it below 250 KB compressed, which is this much plain.
    chunkSizeWarningLimit: 800,
    modulePreload: { polyfill: false },
  },
  server: {
    // For work on the page: `npx vite web` beside a running service.
    proxy: { "/api": "http://127.0.0.1:8025" },
  },
});
