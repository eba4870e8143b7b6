// Runs before the first paint, so that a page chosen dark never flashes white. A file of its own, because the content
// security policy allows no inline script. The keys are those of src/parts/preferences.ts and src/i18n/i18n.ts.
(function () {
  try {
    var scheme = localStorage.getItem("holdfast.scheme");
    if (scheme !== "light" && scheme !== "dark") {
      scheme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    }
    document.documentElement.setAttribute("data-mantine-color-scheme", scheme);
    document.documentElement.lang = localStorage.getItem("holdfast.language") || navigator.language.slice(0, 2);
  } catch (error) {
    // Storage can be forbidden; the page then follows the system.
  }
})();
