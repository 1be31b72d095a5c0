/* Show the card of a cell on hover and on keyboard focus. */
(() => {
  const gridOf = (element) => element.closest?.("[data-grid]");

  const card = document.getElementById("cell-card");
  const HOVER_DELAY_MS = 130;
  const SPINNER_DELAY_MS = 250;
  const GAP_PX = 6;
  const responses = new Map();
  let owner = null;
  let timer = 0;

  const fetchCard = (link) => {
    const { pathname, searchParams } = new URL(link.href);
    searchParams.set("cell", pathname.match(/(\d+)\/$/)[1]);
    const url = `${gridOf(link).dataset.cardUrl}?${searchParams}`;
    if (!responses.has(url)) {
      const text = fetch(url).then((response) => (response.ok ? response.text() : Promise.reject(new Error(String(response.status)))));
      responses.set(url, text);
      text.catch(() => responses.delete(url));
    }
    return responses.get(url);
  };

  const positionCard = (link) => {
    const rect = link.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = card;
    const below = rect.bottom + GAP_PX;
    const fits = below + height <= innerHeight;
    card.style.left = `${Math.max(GAP_PX, Math.min(rect.left, innerWidth - width - GAP_PX))}px`;
    card.style.top = `${fits ? below : Math.max(GAP_PX, rect.top - GAP_PX - height)}px`;
  };

  const hide = () => {
    clearTimeout(timer);
    owner?.removeAttribute("aria-describedby");
    owner = null;
    card.hidden = true;
  };

  const showContent = (link, content, isBusy) => {
    if (owner !== link) return;
    card.replaceChildren(content);
    card.ariaBusy = isBusy ? "true" : "false";
    card.hidden = false;
    positionCard(link);
    link.setAttribute("aria-describedby", card.id);
  };

  const templateContent = (id) => document.getElementById(id).content.cloneNode(true);

  const parseFragment = (text) => {
    const template = document.createElement("template");
    template.innerHTML = text;
    return template.content;
  };

  const show = async (link) => {
    if (owner === link) return;
    hide();
    owner = link;
    const spinnerTimer = setTimeout(() => showContent(link, templateContent("card-loading"), true), SPINNER_DELAY_MS);
    try {
      const text = await fetchCard(link);
      showContent(link, parseFragment(text), false);
    } catch {
      showContent(link, templateContent("card-error"), false);
    } finally {
      clearTimeout(spinnerTimer);
    }
  };

  const schedule = (action) => {
    clearTimeout(timer);
    timer = setTimeout(action, HOVER_DELAY_MS);
  };

  // Static copies have no cards.
  const cellLink = (element) => (gridOf(element)?.dataset.cardUrl ? element.closest(".cell")?.querySelector("a") : null);

  document.addEventListener("pointerover", ({ target: element, pointerType }) => {
    if (pointerType === "touch") return;
    const link = cellLink(element);
    if (link) schedule(() => show(link));
    else if (card.contains(element)) clearTimeout(timer);
    else if (owner && owner !== document.activeElement) schedule(hide);
  });
  document.addEventListener("focusin", ({ target: element }) => {
    const link = cellLink(element);
    if (!link || link !== owner) hide(); // The card could cover the focused element.
    if (link?.matches(":focus-visible")) schedule(() => show(link));
  });
  document.addEventListener("keydown", ({ key }) => {
    if (key === "Escape") hide();
  });
  const followScroll = () => {
    const link = owner;
    if (!link || card.hidden) return;
    if (link === document.activeElement) return positionCard(link);
    hide();
    schedule(() => link.matches(":hover") && show(link)); // still under the pointer
  };
  document.addEventListener("scroll", followScroll, { capture: true, passive: true });
  document.addEventListener("htmx:afterSwap", () => {
    hide();
    responses.clear();
  });
})();
