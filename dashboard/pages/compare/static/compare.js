/* The address is the view: keep the place when it changes; and a large
   table comes in parts, so that whoever types or points meanwhile is answered. */
(() => {
  const gridOf = () => document.querySelector("[data-grid]");
  const region = () => document.querySelector(".comparison");
  const linksOf = (element) => [...element.querySelectorAll("a")];

  const PLACE = "compare-place";

  document.addEventListener("click", ({ target: element }) => {
    if (!element.closest("[data-keeps-place]") || !region()) return;
    const { scrollLeft, scrollTop } = region();
    const at = linksOf(gridOf()).indexOf(element.closest("a"));
    sessionStorage.setItem(PLACE, JSON.stringify([location.pathname, scrollX, scrollY, scrollLeft, scrollTop, at]));
  });

  const restore = () => {
    const [path, x, y, left, top, at] = JSON.parse(sessionStorage.getItem(PLACE) ?? "[]");
    sessionStorage.removeItem(PLACE);
    if (path !== location.pathname) return;
    scrollTo(x, y);
    region()?.scrollTo(left, top);
    const grid = gridOf();
    if (grid) linksOf(grid)[at]?.focus({ preventScroll: true });
  };

  restore();

  /* An answer has the rows that are seen first; the others of each group stand in a
     comment, and become rows a few at a time. */

  const LATER = /<!--rows:([^]*?)-->/g;
  const SLICE = 40_000;
  // After the address has the words that are searched for (row-search.js).
  const SETTLED_MS = 450;
  const ROW_END = "</tr>\n";
  let later = [];
  let before = null;

  function* slices(text) {
    for (let from = 0, to; from < text.length; from = to) {
      const at = text.indexOf(ROW_END, from + SLICE);
      to = at < 0 ? text.length : at + ROW_END.length;
      yield text.slice(from, to);
    }
  }

  const turn = () => new Promise((done) => setTimeout(done));

  /* Links that the tab key leaves out: not thousands of them at once, when all are there. */
  const outOfTabOrder = (rows) => rows.replaceAll("<a href", '<a tabindex="-1" href');

  /* A reader who has not scrolled meanwhile stays in place. */
  const scrollBack = (grid) => {
    const { scrollTop, scrollHeight } = region();
    if (scrollTop) return;
    const rows = [...grid.querySelectorAll("tbody tr:not([hidden])")];
    showFirst(rows, Math.round((before.top / scrollHeight) * rows.length), before.columns);
    region().scrollTop = before.top;
  };

  const add = (body, rows) => {
    const last = body.lastElementChild;
    body.insertAdjacentHTML("beforeend", outOfTabOrder(rows));
    const added = [];
    for (let row = last.nextElementSibling; row; row = row.nextElementSibling) added.push(row);
    return added;
  };

  function* pieces(grid, groups) {
    for (const [at, text] of groups.entries()) for (const rows of slices(text)) yield [grid.tBodies[at], rows];
  }

  let missing = [];

  const complete = async (grid, groups) => {
    grid.parentElement.ariaBusy = "true";
    const mine = (missing = pieces(grid, groups));
    for (let count = 0; ; ) {
      await turn();
      if (!grid.isConnected) return;
      const { value: piece, done } = mine.next(); // After the turn: paper may have taken some.
      if (done) break;
      const added = add(...piece);
      if (count < NEAR) putOff(added);
      count += added.length;
    }
    if (before?.top) scrollBack(grid);
    document.dispatchEvent(new CustomEvent("rowscome"));
    await bringInTurns();
    grid.parentElement.ariaBusy = null;
  };

  /* A wide table has its first rows only. Whoever searches asks for all of them: what
     is typed meanwhile is searched for when they have come (row-search.js). */
  const askForAll = (element) => {
    const all = element?.matches("[data-search]") && document.querySelector("[data-all-rows]");
    if (!all) return;
    all.removeAttribute("data-all-rows"); // Once.
    htmx.ajax("GET", all.href, { target: "#comparison", swap: "innerHTML" });
  };
  document.addEventListener("focusin", ({ target }) => askForAll(target));

  /* The medians are those of the rows that a search leaves. */
  let wait = 0;
  document.addEventListener("rowsfound", () => {
    clearTimeout(wait);
    wait = setTimeout(async () => {
      const asked = location.href;
      const answer = await fetch(asked, { headers: { "HX-Request": "true", "HX-Target": "medians" } });
      const row = document.querySelector("[data-medians]");
      if (answer.ok && row && asked === location.href) row.outerHTML = await answer.text();
    }, SETTLED_MS);
  });

  // Paper has all rows, or it would lie.
  addEventListener("beforeprint", () => {
    for (const piece of missing) add(...piece);
  });

  /* To take thousands of cells out of a page takes as long as to put others in. What is not
     seen of the old table goes a few rows at a time, before htmx has the answer. */

  const clearOut = async (xhr) => {
    const grid = gridOf();
    if (!grid || xhr.status !== 200) return;
    const rows = [...grid.querySelectorAll("tbody:not([hidden]) tr:not(.group, [hidden])")];
    const { scrollTop, scrollHeight, clientHeight } = region();
    const last = Math.ceil(((scrollTop + clientHeight) / scrollHeight) * rows.length);
    while (rows.length > last) {
      await turn();
      for (const row of rows.splice(Math.max(last, rows.length - FAR_TURN))) row.remove();
    }
  };

  document.addEventListener("htmx:beforeSend", ({ detail: { target, xhr } }) => {
    if (target.id !== "comparison") return;
    const handle = xhr.onload;
    xhr.onload = (event) => clearOut(xhr).then(() => handle.call(xhr, event));
  });

  document.addEventListener("htmx:beforeSwap", ({ target, detail }) => {
    if (!detail.shouldSwap || target.id !== "comparison") return;
    const grid = gridOf();
    before = grid && { columns: columnsInSight(grid), left: region().scrollLeft, top: region().scrollTop };
    // htmx would announce the end of each of thousands of elements, which nobody listens to.
    target.replaceChildren();
    later = Array.from(detail.serverResponse.matchAll(LATER), ([, rows]) => rows);
    detail.serverResponse = detail.serverResponse.replace(LATER, "");
  });
  document.addEventListener("htmx:afterSwap", () => {
    const grid = gridOf();
    if (!grid) return;
    if (before) {
      showFirst([...grid.querySelectorAll("tbody tr")], 0, before.columns);
      // In the frame that lays the new table out anyway, not a second time before it.
      if (before.left) requestAnimationFrame(() => { region().scrollLeft = before.left; });
    }
    complete(grid, later);
  });

  askForAll(document.activeElement); // Before this script came.
})();
