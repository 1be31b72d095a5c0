/* Run before the first paint: mark that scripts run, and apply the stored theme. */
(() => {
  const root = document.documentElement;
  // Hides parts that scripts collapse on phones until they have done so.
  root.classList.add("js", "js-loading");
  addEventListener("load", () => root.classList.remove("js-loading"));
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch {
    /* Without storage, follow the system theme. */
  }
})();
