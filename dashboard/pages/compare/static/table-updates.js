/* Keep the scroll position when the view, and with it the URL, changes; load a large
   table in parts, so that the page keeps responding to input. */
(() => {
  const gridOf = () => document.querySelector("[data-grid]");
  const region = () => document.querySelector(".comparison");
  const linksOf = (element) => [...element.querySelectorAll("a")];

  const POSITION_KEY = "compare-position";

  document.addEventListener("click", ({ target: element }) => {
    if (!element.closest("[data-preserve-scroll]") || !region()) return;
    const { scrollLeft, scrollTop } = region();
    const index = linksOf(gridOf()).indexOf(element.closest("a"));
    sessionStorage.setItem(POSITION_KEY, JSON.stringify([location.pathname, scrollX, scrollY, scrollLeft, scrollTop, index]));
  });

  const restorePosition = () => {
    const [path, x, y, left, top, index] = JSON.parse(sessionStorage.getItem(POSITION_KEY) ?? "[]");
    sessionStorage.removeItem(POSITION_KEY);
    if (path !== location.pathname) return;
    scrollTo(x, y);
    region()?.scrollTo(left, top);
    const grid = gridOf();
    if (grid) linksOf(grid)[index]?.focus({ preventScroll: true });
  };

  restorePosition();

  /* Show a shadow while columns are beyond the right edge. */
  const markScrollFrame = () => {
    const scroller = region();
    const hidden = scroller ? scroller.scrollWidth - scroller.clientWidth - scroller.scrollLeft : 0;
    scroller?.parentElement.classList.toggle("has-more", hidden > 1);
  };
  markScrollFrame();
  addEventListener("resize", markScrollFrame);
  for (const name of ["scroll", "htmx:afterSettle", "rowsloaded"]) document.addEventListener(name, markScrollFrame, { capture: true, passive: true });

  /* A response contains the first rows; further rows of each group are in a comment and
     are added a few at a time. */

  const DEFERRED_ROWS = /<!--rows:([^]*?)-->/g;
  const SLICE_LENGTH = 40_000;
  // Wait until row-search.js has put the search into the URL.
  const URL_UPDATE_MS = 450;
  const ROW_END = "</tr>\n";
  let deferredRows = [];
  let before = null;

  function* splitRows(text) {
    for (let from = 0, to; from < text.length; from = to) {
      const index = text.indexOf(ROW_END, from + SLICE_LENGTH);
      to = index < 0 ? text.length : index + ROW_END.length;
      yield text.slice(from, to);
    }
  }

  const pause = () => new Promise((done) => setTimeout(done));

  /* Remove links from the tab order while adding rows; doing it at the end is slow. */
  const removeFromTabOrder = (rows) => rows.replaceAll("<a href", '<a tabindex="-1" href');

  /* Restore the scroll position unless the user has scrolled meanwhile. */
  const restoreScroll = (grid) => {
    const { scrollTop, scrollHeight } = region();
    if (scrollTop) return;
    const rows = [...grid.querySelectorAll("tbody tr:not([hidden])")];
    showNearest(rows, Math.round((before.top / scrollHeight) * rows.length), before.columns);
    region().scrollTop = before.top;
  };

  const add = (group, rows) => {
    const last = group.lastElementChild;
    group.insertAdjacentHTML("beforeend", removeFromTabOrder(rows));
    const added = [];
    for (let row = last.nextElementSibling; row; row = row.nextElementSibling) added.push(row);
    return added;
  };

  function* rowSlices(grid, groups) {
    for (const [index, text] of groups.entries()) for (const rows of splitRows(text)) yield [grid.tBodies[index], rows];
  }

  let remainingSlices = [];

  const appendDeferredRows = async (grid, groups) => {
    grid.parentElement.ariaBusy = "true";
    const slices = (remainingSlices = rowSlices(grid, groups));
    for (let count = 0; ; ) {
      await pause();
      if (!grid.isConnected) return;
      const { value: slice, done } = slices.next(); // After the pause, because printing may have taken some.
      if (done) break;
      const added = add(...slice);
      if (count < NEAR_ROWS) deferRows(added);
      count += added.length;
    }
    if (before?.top) restoreScroll(grid);
    document.dispatchEvent(new CustomEvent("rowsloaded"));
    await loadDeferredRows();
    grid.parentElement.ariaBusy = null;
  };

  /* A wide table contains its first rows only. Load all rows when the user starts a search;
     row-search.js filters them when they have arrived. */
  const requestAllRows = (element) => {
    const link = element?.matches("[data-search]") && document.querySelector("[data-load-all-rows]");
    if (!link) return;
    link.removeAttribute("data-load-all-rows");
    htmx.ajax("GET", link.href, { target: "#comparison", swap: "innerHTML" });
  };
  document.addEventListener("focusin", ({ target }) => requestAllRows(target));

  /* Update the medians to the rows that match the search. */
  let timer = 0;
  document.addEventListener("rowsfiltered", () => {
    if ("exported" in document.documentElement.dataset) return document.querySelector("[data-medians]")?.remove();
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const url = location.href;
      const response = await fetch(url, { headers: { "HX-Request": "true", "HX-Target": "medians" } });
      const row = document.querySelector("[data-medians]");
      if (response.ok && row && url === location.href) row.outerHTML = await response.text();
    }, URL_UPDATE_MS);
  });

  // A printed table must be complete.
  addEventListener("beforeprint", () => {
    for (const slice of remainingSlices) add(...slice);
  });

  /* Removing thousands of cells is as slow as adding them. Remove the hidden rows of the old
     table a few at a time, before htmx processes the response. */

  const removeOldRows = async (xhr) => {
    const grid = gridOf();
    if (!grid || xhr.status !== 200) return;
    const rows = [...grid.querySelectorAll("tbody:not([hidden]) tr:not(.group, [hidden])")];
    const { scrollTop, scrollHeight, clientHeight } = region();
    const last = Math.ceil(((scrollTop + clientHeight) / scrollHeight) * rows.length);
    while (rows.length > last) {
      await pause();
      for (const row of rows.splice(Math.max(last, rows.length - FAR_ROWS_PER_FRAME))) row.remove();
    }
  };

  document.addEventListener("htmx:beforeSend", ({ detail: { target, xhr } }) => {
    if (target.id !== "comparison") return;
    const onload = xhr.onload;
    xhr.onload = (event) => removeOldRows(xhr).then(() => onload.call(xhr, event));
  });

  document.addEventListener("htmx:beforeSwap", ({ target, detail }) => {
    if (!detail.shouldSwap || target.id !== "comparison") return;
    const grid = gridOf();
    before = grid && { columns: visibleColumns(grid), left: region().scrollLeft, top: region().scrollTop };
    // Otherwise htmx triggers a cleanup event for each of thousands of elements.
    target.replaceChildren();
    deferredRows = Array.from(detail.serverResponse.matchAll(DEFERRED_ROWS), ([, rows]) => rows);
    detail.serverResponse = detail.serverResponse.replace(DEFERRED_ROWS, "");
  });
  document.addEventListener("htmx:afterSwap", () => {
    const grid = gridOf();
    if (!grid) return;
    if (before) {
      showNearest([...grid.querySelectorAll("tbody tr")], 0, before.columns);
      // Scroll in the frame that lays out the new table, to avoid a second layout.
      if (before.left) requestAnimationFrame(() => { region().scrollLeft = before.left; });
    }
    appendDeferredRows(grid, deferredRows);
  });

  requestAllRows(document.activeElement); // The search field may have had the focus before this script was loaded.
})();
