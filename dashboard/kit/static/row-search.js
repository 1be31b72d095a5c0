/* Filter the rows of the comparison in the browser. */
(() => {
  const searchInput = document.querySelector("[data-search]");
  const status = document.querySelector("[data-status]");

  // Collapse the display options on phones, so that the table comes first.
  if (innerWidth < 640) document.querySelector("[data-display-options]").open = false;

  const texts = new WeakMap();
  const textOf = (row, title) => {
    if (!texts.has(row)) texts.set(row, `${title} ${row.cells[0].textContent}`.toLowerCase());
    return texts.get(row);
  };

  /* Show rows that match again. */
  const showRows = (rows) => {
    if (!rows.length) return;
    const grid = rows[0].closest("[data-grid]");
    const columns = grid && visibleColumns(grid);
    for (const row of rows) row.hidden = false;
    if (grid) showNearest(rows, 0, columns); // The table of a system pair is small and has no grid.
  };

  const filterRows = () => {
    const matching = [];
    const words = searchInput.value.toLowerCase().split(/\s+/).filter(Boolean);
    let matchCount = 0;
    let rowCount = 0;
    for (const group of document.querySelectorAll("[data-rows]")) {
      const title = group.rows[0].textContent;
      let matchesInGroup = 0;
      for (const row of [...group.rows].slice(1)) {
        const isHidden = !words.every((word) => textOf(row, title).includes(word));
        if (isHidden) row.hidden = true;
        else matching.push(row);
        matchesInGroup += isHidden ? 0 : 1;
      }
      group.hidden = !matchesInGroup;
      matchCount += matchesInGroup;
      rowCount += group.rows.length - 1;
    }
    showRows(matching.filter((row) => row.hidden));
    const noMatches = document.querySelector("[data-no-matches]");
    if (noMatches) noMatches.hidden = matchCount > 0;
    status.textContent = searchInput.dataset.countText.replace("{n}", matchCount).replace("{all}", rowCount);
    document.dispatchEvent(new CustomEvent("rowsfiltered"));
  };

  const setSearchParameter = (query) => {
    const q = searchInput.value.trim();
    if (q) query.set("q", q);
    else query.delete("q");
  };

  const updateUrl = () => {
    const url = new URL(location.href);
    setSearchParameter(url.searchParams);
    history.replaceState(history.state, "", url);
  };

  /* Add the current search to links that change the view; their URLs hold the search of
     the time when the page was rendered. */
  const carrySearch = ({ target }) => {
    const link = target.closest?.('#comparison a[href^="?"]');
    if (!link) return;
    const query = new URLSearchParams(link.search);
    setSearchParameter(query);
    link.setAttribute("href", `?${query}`);
  };
  for (const name of ["pointerdown", "focusin", "click"]) document.addEventListener(name, carrySearch);

  // The user may have typed before this script was loaded.
  if (searchInput.value !== searchInput.defaultValue) filterRows();

  let timer = 0;
  let isChanged = false;
  searchInput.addEventListener("input", () => {
    isChanged = true;
    filterRows();
    clearTimeout(timer);
    timer = setTimeout(updateUrl, 300);
  });
  // The form requests a new table when a menu changes; the search needs no request.
  searchInput.addEventListener("change", (event) => event.stopPropagation());
  // A response is filtered by the search at the time of its request.
  document.addEventListener("htmx:beforeRequest", () => {
    isChanged = false;
  });
  document.addEventListener("rowsloaded", () => isChanged && filterRows());
  document.addEventListener("htmx:pushedIntoHistory", () => isChanged && updateUrl());
})();
