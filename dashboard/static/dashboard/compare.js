/* The comparison by keyboard, its cards, its search. The page reads without all this. */
(() => {
  const gridOf = (element) => element.closest?.("[data-grid]");
  const linksOf = (element) => [...element.querySelectorAll("a")];

  /* 1. One tab stop for the whole table; arrow keys move within it. */

  const stops = new WeakMap();

  const stopAt = (grid, link) => {
    const before = stops.get(grid);
    if (before) before.tabIndex = -1;
    if (link) link.tabIndex = 0;
    stops.set(grid, link);
  };

  const settle = (root) => {
    for (const grid of root.querySelectorAll("[data-grid]")) {
      // Thousands of links: taken out of the tab order once, not at every key.
      if (!stops.has(grid)) for (const link of linksOf(grid)) link.tabIndex = -1;
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

  document.addEventListener("keydown", (event) => {
    const grid = gridOf(event.target);
    if (!grid || event.altKey || event.metaKey || event.target.localName !== "a") return;
    const found = target(grid, event.target, event);
    if (!found) return;
    event.preventDefault();
    found.focus();
  });

  document.addEventListener("focusin", ({ target: link }) => {
    const grid = gridOf(link);
    if (grid && link.localName === "a") stopAt(grid, link);
  });

  /* 2. One card for all cells: on hover, and where the keyboard is. */

  const card = document.getElementById("cell-card");
  const WAIT = 130;
  const SLOW = 250;
  const GAP = 6;
  const known = new Map();
  let owner = null;
  let timer = 0;

  const fetched = (link) => {
    const { pathname, searchParams } = new URL(link.href);
    searchParams.set("cell", pathname.match(/(\d+)\/$/)[1]);
    const address = `${gridOf(link).dataset.card}?${searchParams}`;
    if (!known.has(address)) {
      const answer = fetch(address).then((found) => (found.ok ? found.text() : Promise.reject(new Error(String(found.status)))));
      known.set(address, answer);
      answer.catch(() => known.delete(address));
    }
    return known.get(address);
  };

  const place = (link) => {
    const box = link.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = card;
    const below = box.bottom + GAP;
    const fits = below + height <= innerHeight;
    card.style.left = `${Math.max(GAP, Math.min(box.left, innerWidth - width - GAP))}px`;
    card.style.top = `${fits ? below : Math.max(GAP, box.top - GAP - height)}px`;
  };

  const hide = () => {
    clearTimeout(timer);
    owner?.removeAttribute("aria-describedby");
    owner = null;
    card.hidden = true;
  };

  const fill = (link, content, isBusy) => {
    if (owner !== link) return;
    card.replaceChildren(content);
    card.ariaBusy = isBusy ? "true" : "false";
    card.hidden = false;
    place(link);
    link.setAttribute("aria-describedby", card.id);
  };

  const part = (id) => document.getElementById(id).content.cloneNode(true);

  const parsed = (text) => {
    const answer = document.createElement("template");
    answer.innerHTML = text;
    return answer.content;
  };

  const show = async (link) => {
    if (owner === link) return;
    hide();
    owner = link;
    const slow = setTimeout(() => fill(link, part("card-waiting"), true), SLOW);
    try {
      const text = await fetched(link);
      fill(link, parsed(text), false);
    } catch {
      fill(link, part("card-trouble"), false);
    } finally {
      clearTimeout(slow);
    }
  };

  const later = (deed) => {
    clearTimeout(timer);
    timer = setTimeout(deed, WAIT);
  };

  const cellLink = (element) => (gridOf(element) ? element.closest(".cell")?.querySelector("a") : null);

  document.addEventListener("pointerover", ({ target: element, pointerType }) => {
    if (pointerType === "touch") return;
    const link = cellLink(element);
    if (link) later(() => show(link));
    else if (card.contains(element)) clearTimeout(timer);
    else if (owner && owner !== document.activeElement) later(hide);
  });
  document.addEventListener("focusin", ({ target: element }) => {
    const link = cellLink(element);
    if (!link || link !== owner) hide(); // It would lie over what has the focus now.
    if (link?.matches(":focus-visible")) later(() => show(link));
  });
  document.addEventListener("keydown", ({ key }) => {
    if (key === "Escape") hide();
  });
  document.addEventListener("scroll", () => owner && !card.hidden && (owner === document.activeElement ? place(owner) : hide()), { capture: true, passive: true });

  /* 3. Searching rows: at once, without the server. */

  const search = document.querySelector("[data-search]");
  const say = (text) => {
    document.querySelector("[data-status]").textContent = text;
  };

  const texts = new WeakMap();
  const textOf = (row, title) => {
    if (!texts.has(row)) texts.set(row, `${title} ${row.cells[0].textContent}`.toLowerCase());
    return texts.get(row);
  };

  const sift = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    let all = 0;
    for (const body of document.querySelectorAll("[data-grid] tbody")) {
      const title = body.rows[0].textContent;
      let inside = 0;
      for (const row of [...body.rows].slice(1)) {
        row.hidden = !words.every((word) => textOf(row, title).includes(word));
        inside += row.hidden ? 0 : 1;
      }
      body.hidden = !inside;
      found += inside;
      all += body.rows.length - 1;
    }
    const nothing = document.querySelector("[data-nothing]");
    if (nothing) nothing.hidden = found > 0;
    say(search.dataset.found.replace("{n}", found).replace("{all}", all));
  };

  const remember = () => {
    const address = new URL(location.href);
    const q = search.value.trim();
    if (q) address.searchParams.set("q", q);
    else address.searchParams.delete("q");
    history.replaceState(history.state, "", address);
  };

  let typing = 0;
  search.addEventListener("input", () => {
    sift();
    settle(document);
    clearTimeout(typing);
    typing = setTimeout(remember, 300);
  });
  // The form asks the server when a menu changes; this has been answered already.
  search.addEventListener("change", (event) => event.stopPropagation());

  /* 4. The address is the view: copy it, and keep the place when it changes. */

  const copy = document.querySelector("[data-copy-link]");
  copy.hidden = !navigator.clipboard;
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(location.href);
    say(copy.dataset.copied);
    copy.classList.add("done");
    setTimeout(() => copy.classList.remove("done"), 2000);
  });

  const PLACE = "compare-place";
  const region = () => document.querySelector(".comparison");

  document.addEventListener("click", ({ target: element }) => {
    if (!element.closest("[data-keeps-place]") || !region()) return;
    const { scrollLeft, scrollTop } = region();
    const at = linksOf(document.querySelector("[data-grid]")).indexOf(element.closest("a"));
    sessionStorage.setItem(PLACE, JSON.stringify([location.pathname, scrollX, scrollY, scrollLeft, scrollTop, at]));
  });

  const restore = () => {
    const [path, x, y, left, top, at] = JSON.parse(sessionStorage.getItem(PLACE) ?? "[]");
    sessionStorage.removeItem(PLACE);
    if (path !== location.pathname) return;
    scrollTo(x, y);
    region()?.scrollTo(left, top);
    const grid = document.querySelector("[data-grid]");
    if (grid) linksOf(grid)[at]?.focus({ preventScroll: true });
  };

  /* 5. What has the focus is not behind the head or the first column; a head that takes
     most of the window scrolls with the table. */

  const MOST = 0.5;
  const unhide = () => {
    const grid = document.querySelector("[data-grid]");
    if (!grid) return;
    const height = grid.tHead.offsetHeight;
    const isTall = height > region().clientHeight * MOST;
    grid.classList.toggle("head-scrolls", isTall);
    region().style.scrollPaddingTop = `${isTall ? 0 : height}px`;
  };
  addEventListener("resize", unhide);

  // On a phone the table comes first.
  if (innerWidth < 640) document.querySelector("[data-looks]").open = false;
  settle(document);
  unhide();
  restore();
  // htmx would announce the end of each of thousands of elements, which nobody listens to.
  document.addEventListener("htmx:beforeSwap", ({ target, detail }) => {
    if (detail.shouldSwap && target.id === "comparison") target.replaceChildren();
  });
  document.addEventListener("htmx:afterSwap", ({ target: element }) => {
    hide();
    known.clear();
    settle(element);
    unhide();
  });
})();
