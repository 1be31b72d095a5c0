/* Before the first paint: say that scripts run, and use the theme chosen earlier. */
(() => {
  const root = document.documentElement;
  // What scripts will fold on a phone is not seen unfolded before.
  root.classList.add("js", "starting");
  addEventListener("load", () => root.classList.remove("starting"));
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch {
    /* A browser that keeps nothing follows the system. */
  }
})();
