/* The evidence matrix is one tab stop; arrow keys move between its cells. */
(() => {
  const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  for (const table of document.querySelectorAll("[data-matrix]")) {
    const rows = [...table.rows].map((row) => [...row.cells].map((cell) => cell.querySelector("a")))
      .filter((row) => row.some(Boolean));
    let current = table.querySelector("td a");
    for (const link of rows.flat()) if (link) link.tabIndex = link === current ? 0 : -1;
    table.addEventListener("focusin", ({ target: link }) => {
      if (link.localName !== "a") return;
      current.tabIndex = -1;
      current = link;
      link.tabIndex = 0;
    });
    table.addEventListener("keydown", (event) => {
      const step = STEPS[event.key];
      const row = rows.findIndex((links) => links.includes(event.target));
      if (!step || row < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
      const next = rows[row + step[0]]?.[rows[row].indexOf(event.target) + step[1]];
      if (!next) return;
      event.preventDefault();
      next.focus();
      next.scrollIntoView({ block: "nearest", inline: "nearest" });
    });
  }
})();
