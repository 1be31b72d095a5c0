/* What every page may do with scripts, and can be read without. */
(() => {
  const root = document.documentElement;
  const button = document.querySelector("[data-theme-toggle]");
  const NEXT = { auto: "dark", dark: "light", light: "auto" };

  // A row of tabs that scrolls begins where the page's own tab is.
  const tab = document.querySelector(".tabs [aria-current]");
  if (tab) tab.parentElement.scrollLeft = tab.offsetLeft - tab.parentElement.offsetLeft - 32;

  const label = () => {
    const name = button.dataset[`label${{ auto: "Auto", dark: "Dark", light: "Light" }[root.dataset.theme ?? "auto"]}`];
    button.setAttribute("aria-label", name);
    button.title = name;
  };

  const remember = (theme) => {
    try {
      if (theme === "auto") localStorage.removeItem("theme");
      else localStorage.setItem("theme", theme);
    } catch {
      /* Then it lasts for this page only. */
    }
  };

  if (button) {
    label();
    button.addEventListener("click", () => {
      const theme = NEXT[root.dataset.theme ?? "auto"];
      if (theme === "auto") delete root.dataset.theme;
      else root.dataset.theme = theme;
      remember(theme);
      label();
      document.dispatchEvent(new CustomEvent("themechange"));
    });
  }

  /* What came instead is said in one line: a live table would be read out whole. */
  document.addEventListener("htmx:afterSwap", ({ target }) => {
    const status = document.querySelector("[data-status]") ?? document.querySelector("[data-said]");
    const summary = target.querySelector("[data-summary], .empty h2");
    if (summary) status.textContent = summary.textContent.replace(/\s+/g, " ");
  });

  /* A live part that is exchanged keeps the keyboard where it was, what was unfolded, and
     tables where they were scrolled to. */
  const NAMES = ["aria-labelledby", "aria-label", "href"];
  const nameOf = (node) => NAMES.map((name) => node.getAttribute(name)).find(Boolean) ?? node.textContent.trim();
  const reachable = (part, name) =>
    [...part.querySelectorAll("a, button, summary, [tabindex]")].find((node) => nameOf(node) === name);
  let before = null;
  document.addEventListener("htmx:beforeSwap", ({ detail: { target } }) => {
    if (!target.matches('[hx-trigger^="every"]')) return;
    before = {
      id: target.id,
      name: target.contains(document.activeElement) ? nameOf(document.activeElement) : "",
      unfolded: [...target.querySelectorAll("details[open] > summary")].map(nameOf),
      scrolled: [...target.querySelectorAll("[role=group]")].map(({ scrollLeft, scrollTop }) => [scrollLeft, scrollTop]),
    };
  });
  document.addEventListener("htmx:afterSettle", () => {
    const part = before && document.getElementById(before.id);
    if (!part) return;
    for (const name of before.unfolded) reachable(part, name)?.closest("details").setAttribute("open", "");
    part.querySelectorAll("[role=group]").forEach((group, at) => group.scrollTo(...(before.scrolled[at] ?? [0, 0])));
    if (before.name) reachable(part, before.name)?.focus({ preventScroll: true });
    before = null;
  });

  /* An answer that did not come is said, until one comes. */
  const away = document.querySelector("[data-away]");
  const tell = (text) => {
    away.textContent = text;
    away.hidden = !text;
  };
  for (const name of ["htmx:sendError", "htmx:timeout"]) document.addEventListener(name, () => tell(away.dataset.unreached));
  document.addEventListener("htmx:responseError", () => tell(away.dataset.refused));
  document.addEventListener("htmx:afterOnLoad", ({ detail }) => detail.successful && tell(""));

  /* Copies a text of the page, or else the address. What a browser does not let a page copy
     is marked, for the keys that do. */
  for (const copier of document.querySelectorAll("[data-copy]")) {
    const source = document.getElementById(copier.dataset.copy);
    const label = copier.textContent;
    copier.hidden = !navigator.clipboard;
    copier.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(source?.textContent ?? location.href);
      } catch {
        if (source) getSelection().selectAllChildren(source);
        return tell(source ? away.dataset.uncopied : away.dataset.uncopiedAddress);
      }
      tell("");
      copier.textContent = copier.dataset.copied;
      document.querySelector("[data-said]").textContent = copier.dataset.copied;
      setTimeout(() => (copier.textContent = label), 2000);
    });
  }

  /* Ctrl-K leads to the page's box, or to the search where the header has no room for it. */
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    const box = document.getElementById("words") ?? document.querySelector("input[data-find-all]");
    box?.select();
    if (box !== document.activeElement) document.querySelector("a[data-find-all]")?.click();
  });

  /* On a phone what is looked at comes first; a wider window has room for the choices. */
  const phone = matchMedia("(max-width: 40rem)");
  const fold = (isOpen) => {
    for (const each of document.querySelectorAll("[data-fold]")) each.open = isOpen;
  };
  if (phone.matches) fold(false);
  root.classList.remove("starting");
  phone.addEventListener("change", () => phone.matches || fold(true));
})();
