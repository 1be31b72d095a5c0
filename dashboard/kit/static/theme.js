/* Before the first paint: say that scripts run, and use the theme chosen earlier. */
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch {
    /* A browser that keeps nothing follows the system. */
  }
})();
