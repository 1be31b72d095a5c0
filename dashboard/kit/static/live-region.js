/* Self-updating parts of a page: announce changes in one line, keep focus and scroll
   positions, and allow pausing. */
(() => {
  const SECRET = /name="csrfmiddlewaretoken" value="[^"]*"/g;
  const FOCUSABLE = "a[href], button, summary, input, select, textarea, [tabindex]";
  const status = document.querySelector("[data-announcement]");
  const pause = document.querySelector("[data-pause]");

  const focusables = (root) => [...root.querySelectorAll(FOCUSABLE)];
  const accessibleName = (element) => element?.ariaLabel ?? element?.textContent.trim() ?? "";
  const announcedText = (root) =>
    [...root.querySelectorAll("[data-announce]")].map((element) => element.textContent.replace(/\s+/g, " ").trim()).join(" ");

  let lastResponse = "";
  let lastAnnounced = announcedText(document);
  let position = null;

  const announceChanges = (root) => {
    const text = announcedText(root);
    if (text !== lastAnnounced) status.textContent = text;
    lastAnnounced = text;
  };

  document.addEventListener("htmx:beforeSwap", ({ target, detail }) => {
    const text = detail.serverResponse.replace(SECRET, "");
    if (text === lastResponse) detail.shouldSwap = false;
    lastResponse = text;
    const elements = focusables(target);
    const index = elements.indexOf(document.activeElement);
    position = { index, name: accessibleName(elements[index]), scrolled: elements.map(({ scrollLeft, scrollTop }) => [scrollLeft, scrollTop]) };
  });

  document.addEventListener("htmx:afterSwap", ({ target }) => {
    announceChanges(target);
    const elements = focusables(target);
    for (const [index, [left, top]] of position.scrolled.entries()) if (left || top) elements[index]?.scrollTo(left, top);
    if (position.index < 0 || document.activeElement !== document.body) return;
    const match = accessibleName(elements[position.index]) === position.name ? elements[position.index] : elements.find((element) => accessibleName(element) === position.name);
    match?.focus({ preventScroll: true });
  });

  /* The upload page replaces its part without htmx. */
  document.addEventListener("fragmentloaded", ({ target }) => announceChanges(target));

  pause?.addEventListener("click", () => {
    pause.setAttribute("aria-pressed", String(pause.getAttribute("aria-pressed") !== "true"));
  });
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (pause?.getAttribute("aria-pressed") === "true") event.preventDefault();
  });
})();
