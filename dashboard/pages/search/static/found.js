/* The arrow keys walk from the box through what was found, and back. */
(() => {
  const stops = [document.getElementById("words"), ...document.querySelectorAll("[data-found]")];
  document.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const at = stops.indexOf(document.activeElement);
    if (!step || at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    stops[Math.max(0, Math.min(stops.length - 1, at + step))].focus();
  });
})();
