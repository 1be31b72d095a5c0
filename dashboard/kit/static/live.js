/* A part of a page that renews itself: what is new is told in one line, whoever is in it
   keeps their place, and it can be halted. */
(() => {
  const SECRET = /name="csrfmiddlewaretoken" value="[^"]*"/g;
  const STOPS = "a[href], button, summary, input, select, textarea, [tabindex]";
  const status = document.querySelector("[data-said]");
  const pause = document.querySelector("[data-pause]");

  const stops = (root) => [...root.querySelectorAll(STOPS)];
  const nameOf = (stop) => stop?.ariaLabel ?? stop?.textContent.trim() ?? "";
  const news = (root) =>
    [...root.querySelectorAll("[data-tell]")].map((each) => each.textContent.replace(/\s+/g, " ").trim()).join(" ");

  let last = "";
  let told = news(document);
  let place = null;

  const tell = (root) => {
    const text = news(root);
    if (text !== told) status.textContent = text;
    told = text;
  };

  document.addEventListener("htmx:beforeSwap", ({ target, detail }) => {
    const text = detail.serverResponse.replace(SECRET, "");
    if (text === last) detail.shouldSwap = false;
    last = text;
    const all = stops(target);
    const at = all.indexOf(document.activeElement);
    place = { at, name: nameOf(all[at]), scrolled: all.map(({ scrollLeft, scrollTop }) => [scrollLeft, scrollTop]) };
  });

  document.addEventListener("htmx:afterSwap", ({ target }) => {
    tell(target);
    const all = stops(target);
    for (const [at, [left, top]] of place.scrolled.entries()) if (left || top) all[at]?.scrollTo(left, top);
    if (place.at < 0 || document.activeElement !== document.body) return;
    const same = nameOf(all[place.at]) === place.name ? all[place.at] : all.find((stop) => nameOf(stop) === place.name);
    same?.focus({ preventScroll: true });
  });

  /* The upload page renews its part by itself. */
  document.addEventListener("partcome", ({ target }) => tell(target));

  pause?.addEventListener("click", () => {
    pause.setAttribute("aria-pressed", String(pause.getAttribute("aria-pressed") !== "true"));
  });
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (pause?.getAttribute("aria-pressed") === "true") event.preventDefault();
  });
})();
