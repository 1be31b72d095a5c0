/* One card for all cells of the comparison: on hover, and where the keyboard is. */
(() => {
  const gridOf = (element) => element.closest?.("[data-grid]");

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

  const later = (action) => {
    clearTimeout(timer);
    timer = setTimeout(action, WAIT);
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
  const follow = () => {
    const link = owner;
    if (!link || card.hidden) return;
    if (link === document.activeElement) return place(link);
    hide();
    later(() => link.matches(":hover") && show(link)); // still under the pointer
  };
  document.addEventListener("scroll", follow, { capture: true, passive: true });
  document.addEventListener("htmx:afterSwap", () => {
    hide();
    known.clear();
  });
})();
