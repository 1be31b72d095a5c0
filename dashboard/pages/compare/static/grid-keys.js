/* Keyboard navigation of the comparison table: one tab stop, arrow keys between cells,
   and a visible focus. */
(() => {
  const gridOf = (element) => element.closest?.("[data-grid]");
  const linksOf = (element) => [...element.querySelectorAll("a")];

  const tabStops = new WeakMap();

  const setTabStop = (grid, link) => {
    const previous = tabStops.get(grid);
    if (previous) previous.tabIndex = -1;
    if (link) link.tabIndex = 0;
    tabStops.set(grid, link);
  };

  const resetTabStops = (root) => {
    for (const grid of root.querySelectorAll("[data-grid]")) {
      // With thousands of links, change each tab index only once.
      for (const link of grid.querySelectorAll("a:not([tabindex])")) link.tabIndex = -1;
      if (tabStops.get(grid)?.closest("tbody") && !tabStops.get(grid).closest("[hidden]")) continue;
      setTabStop(grid, grid.querySelector("tbody:not([hidden]) tr:not([hidden]) td a") ?? grid.querySelector("a"));
    }
  };

  const rowsOf = (grid) =>
    [...grid.rows].filter((row) => !row.hidden && !row.parentElement.hidden && row.querySelector("td a"));

  /* Return the link in the same column of the next row that has one. */
  const nextInColumn = (grid, link, step) => {
    const rows = rowsOf(grid);
    const cell = link.closest("td");
    for (let index = rows.indexOf(cell.parentElement) + step; rows[index]; index += step) {
      const next = rows[index].cells[cell.cellIndex]?.querySelector("a");
      if (next) return next;
    }
    return null;
  };

  const nextInRow = (link, step) => {
    const links = linksOf(link.closest("tr"));
    return links[links.indexOf(link) + step];
  };

  const edgeOfTable = (grid, link, key, isWholeTable) => {
    const rows = rowsOf(grid).filter((row) => !("tools" in row.dataset));
    const row = isWholeTable ? rows.at(key === "Home" ? 0 : -1) : link.closest("tr");
    return linksOf(row).at(key === "Home" ? 0 : -1);
  };

  const findTarget = (grid, link, { key, ctrlKey }) => {
    if (key === "Home" || key === "End") return edgeOfTable(grid, link, key, ctrlKey);
    if (ctrlKey) return null;
    if (key === "ArrowLeft" || key === "ArrowRight") return nextInRow(link, key === "ArrowLeft" ? -1 : 1);
    if (key === "ArrowUp" || key === "ArrowDown") return nextInColumn(grid, link, key === "ArrowUp" ? -1 : 1);
    return null;
  };

  /* Show the rows and columns around a distant target at once. */
  const jumpTo = (grid, link) => {
    const rows = rowsOf(grid).filter((row) => row.parentElement !== grid.tHead);
    const [from, to] = visibleColumns(grid);
    const index = link.closest("td").cellIndex - 1;
    const isVisible = from <= index && index <= to;
    const columns = isVisible ? [from, to] : [index - (to - from), index + (to - from)];
    showNearest(rows, rows.indexOf(link.closest("tr")), columns);
  };

  document.addEventListener("keydown", (event) => {
    const grid = gridOf(event.target);
    if (!grid || event.altKey || event.metaKey || event.target.localName !== "a") return;
    const next = findTarget(grid, event.target, event);
    if (!next) return;
    event.preventDefault();
    if (event.ctrlKey) jumpTo(grid, next);
    next.focus();
    next.scrollIntoView({ block: "nearest", inline: "nearest" }); // focus() may leave it partly hidden.
  });

  document.addEventListener("focusin", ({ target: link }) => {
    const grid = gridOf(link);
    if (grid && link.localName === "a") setTabStop(grid, link);
  });

  /* Keep the focused element out from under the header and the first column; a header
     that takes most of the window scrolls with the table. */

  const MAX_HEADER_FRACTION = 0.5;
  // A longer table keeps its own scroll area, or the content below it is hard to find.
  const MAX_FITTED_ROWS = 100;
  const adjustScrollPadding = () => {
    const grid = document.querySelector("[data-grid]");
    if (!grid) return;
    const region = grid.parentElement;
    const height = grid.tHead.offsetHeight;
    const fits = grid.rows.length <= MAX_FITTED_ROWS && grid.offsetWidth <= region.parentElement.clientWidth;
    region.classList.toggle("fits", fits);
    const isTall = height > Math.min(region.clientHeight, innerHeight) * MAX_HEADER_FRACTION;
    grid.classList.toggle("has-scrolling-head", isTall);
    region.style.scrollPaddingTop = `${isTall ? 0 : height}px`;
    region.style.setProperty("--head", `${isTall ? 0 : height}px`);
  };

  // An observer does not force a synchronous layout of the new table.
  const sizeObserver = new ResizeObserver(adjustScrollPadding);
  const observeSizes = () => {
    sizeObserver.disconnect();
    const grid = document.querySelector("[data-grid]");
    if (grid) for (const element of [grid.tHead, grid.parentElement]) sizeObserver.observe(element);
  };

  resetTabStops(document);
  observeSizes();
  for (const name of ["rowsloaded", "rowsfiltered"]) document.addEventListener(name, () => resetTabStops(document));
  document.addEventListener("htmx:afterSwap", ({ target: element }) => {
    resetTabStops(element);
    observeSizes();
  });
})();
