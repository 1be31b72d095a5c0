/* The comparison by keyboard: one tab stop, arrow keys within, and the focus in sight.
   The page reads without all this. */
(() => {
  const gridOf = (element) => element.closest?.("[data-grid]");
  const linksOf = (element) => [...element.querySelectorAll("a")];

  const stops = new WeakMap();

  const stopAt = (grid, link) => {
    const before = stops.get(grid);
    if (before) before.tabIndex = -1;
    if (link) link.tabIndex = 0;
    stops.set(grid, link);
  };

  const settle = (root) => {
    for (const grid of root.querySelectorAll("[data-grid]")) {
      // Thousands of links: each is taken out of the tab order once, not at every key.
      for (const link of grid.querySelectorAll("a:not([tabindex])")) link.tabIndex = -1;
      if (stops.get(grid)?.closest("tbody") && !stops.get(grid).closest("[hidden]")) continue;
      stopAt(grid, grid.querySelector("tbody:not([hidden]) tr:not([hidden]) td a") ?? grid.querySelector("a"));
    }
  };

  const rowsOf = (grid) =>
    [...grid.rows].filter((row) => !row.hidden && !row.parentElement.hidden && row.querySelector("td a"));

  /* The link in the same column of the next row that has one. */
  const across = (grid, link, step) => {
    const rows = rowsOf(grid);
    const cell = link.closest("td");
    for (let at = rows.indexOf(cell.parentElement) + step; rows[at]; at += step) {
      const found = rows[at].cells[cell.cellIndex]?.querySelector("a");
      if (found) return found;
    }
    return null;
  };

  const along = (link, step) => {
    const links = linksOf(link.closest("tr"));
    return links[links.indexOf(link) + step];
  };

  const end = (grid, link, key, isFar) => {
    const rows = rowsOf(grid).filter((row) => !("tools" in row.dataset));
    const row = isFar ? rows.at(key === "Home" ? 0 : -1) : link.closest("tr");
    return linksOf(row).at(key === "Home" ? 0 : -1);
  };

  const target = (grid, link, { key, ctrlKey }) => {
    if (key === "Home" || key === "End") return end(grid, link, key, ctrlKey);
    if (ctrlKey) return null;
    if (key === "ArrowLeft" || key === "ArrowRight") return along(link, key === "ArrowLeft" ? -1 : 1);
    if (key === "ArrowUp" || key === "ArrowDown") return across(grid, link, key === "ArrowUp" ? -1 : 1);
    return null;
  };

  /* A leap shows other rows at once, and other columns. */
  const leap = (grid, link) => {
    const rows = rowsOf(grid).filter((row) => row.parentElement !== grid.tHead);
    const [from, to] = columnsInSight(grid);
    const at = link.closest("td").cellIndex - 1;
    const isInSight = from <= at && at <= to;
    const columns = isInSight ? [from, to] : [at - (to - from), at + (to - from)];
    showFirst(rows, rows.indexOf(link.closest("tr")), columns);
  };

  document.addEventListener("keydown", (event) => {
    const grid = gridOf(event.target);
    if (!grid || event.altKey || event.metaKey || event.target.localName !== "a") return;
    const found = target(grid, event.target, event);
    if (!found) return;
    event.preventDefault();
    if (event.ctrlKey) leap(grid, found);
    found.focus();
    found.scrollIntoView({ block: "nearest", inline: "nearest" }); // The focus may show a part of it.
  });

  document.addEventListener("focusin", ({ target: link }) => {
    const grid = gridOf(link);
    if (grid && link.localName === "a") stopAt(grid, link);
  });

  /* What has the focus is not behind the head or the first column; a head that takes
     most of the window scrolls with the table. */

  const MOST = 0.5;
  // A longer table keeps its window, or what stands below it would not be found.
  const MOST_ROWS = 100;
  const unhide = () => {
    const grid = document.querySelector("[data-grid]");
    if (!grid) return;
    const region = grid.parentElement;
    const height = grid.tHead.offsetHeight;
    const fits = grid.rows.length <= MOST_ROWS && grid.offsetWidth <= region.parentElement.clientWidth;
    region.classList.toggle("fits", fits);
    const isTall = height > Math.min(region.clientHeight, innerHeight) * MOST;
    grid.classList.toggle("head-scrolls", isTall);
    region.style.scrollPaddingTop = `${isTall ? 0 : height}px`;
    region.style.setProperty("--head", `${isTall ? 0 : height}px`);
  };

  // It tells of sizes that are known; to ask for them would lay the new table out at once.
  const sizes = new ResizeObserver(unhide);
  const watch = () => {
    sizes.disconnect();
    const grid = document.querySelector("[data-grid]");
    if (grid) for (const each of [grid.tHead, grid.parentElement]) sizes.observe(each);
  };

  settle(document);
  watch();
  for (const name of ["rowscome", "rowsfound"]) document.addEventListener(name, () => settle(document));
  document.addEventListener("htmx:afterSwap", ({ target: element }) => {
    settle(element);
    watch();
  });
})();
