/* Move between the search field and the results with the arrow keys. */
(() => {
  const stops = [document.getElementById("search-text"), ...document.querySelectorAll("[data-result-link]")];
  document.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const index = stops.indexOf(document.activeElement);
    if (!step || index < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    stops[Math.max(0, Math.min(stops.length - 1, index + step))].focus();
  });
})();
