/* Searching the comparison's rows: at once, without the server. */
(() => {
  const search = document.querySelector("[data-search]");
  const status = document.querySelector("[data-status]");

  // On a phone the table comes first.
  if (innerWidth < 640) document.querySelector("[data-looks]").open = false;

  const texts = new WeakMap();
  const textOf = (row, title) => {
    if (!texts.has(row)) texts.set(row, `${title} ${row.cells[0].textContent}`.toLowerCase());
    return texts.get(row);
  };

  /* Rows that a search gives back. */
  const giveBack = (rows) => {
    if (!rows.length) return;
    const grid = rows[0].closest("[data-grid]");
    const columns = grid && columnsInSight(grid);
    for (const row of rows) row.hidden = false;
    if (grid) showFirst(rows, 0, columns); // Two systems side by side are no large table.
  };

  const sift = () => {
    const kept = [];
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    let all = 0;
    for (const body of document.querySelectorAll("[data-rows]")) {
      const title = body.rows[0].textContent;
      let inside = 0;
      for (const row of [...body.rows].slice(1)) {
        const isHidden = !words.every((word) => textOf(row, title).includes(word));
        if (isHidden) row.hidden = true;
        else kept.push(row);
        inside += isHidden ? 0 : 1;
      }
      body.hidden = !inside;
      found += inside;
      all += body.rows.length - 1;
    }
    giveBack(kept.filter((row) => row.hidden));
    const nothing = document.querySelector("[data-nothing]");
    if (nothing) nothing.hidden = found > 0;
    status.textContent = search.dataset.found.replace("{n}", found).replace("{all}", all);
    document.dispatchEvent(new CustomEvent("rowsfound"));
  };

  const setWords = (query) => {
    const q = search.value.trim();
    if (q) query.set("q", q);
    else query.delete("q");
  };

  const remember = () => {
    const address = new URL(location.href);
    setWords(address.searchParams);
    history.replaceState(history.state, "", address);
  };

  /* A link that changes the view takes along what is searched for now, not what was when
     the page was made. */
  const takeAlong = ({ target }) => {
    const link = target.closest?.('#comparison a[href^="?"]');
    if (!link) return;
    const query = new URLSearchParams(link.search);
    setWords(query);
    link.setAttribute("href", `?${query}`);
  };
  for (const name of ["pointerdown", "focusin", "click"]) document.addEventListener(name, takeAlong);

  // Typed before this script came.
  if (search.value !== search.defaultValue) sift();

  let typing = 0;
  let isNewer = false;
  search.addEventListener("input", () => {
    isNewer = true;
    sift();
    clearTimeout(typing);
    typing = setTimeout(remember, 300);
  });
  // The form asks the server when a menu changes; this has been answered already.
  search.addEventListener("change", (event) => event.stopPropagation());
  // An answer has been searched for what stood here when it was asked for.
  document.addEventListener("htmx:beforeRequest", () => {
    isNewer = false;
  });
  document.addEventListener("rowscome", () => isNewer && sift());
  document.addEventListener("htmx:pushedIntoHistory", () => isNewer && remember());
})();
