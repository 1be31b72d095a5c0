/* Scripts of every page; pages remain readable without them. */
(() => {
  const root = document.documentElement;
  const themeButton = document.querySelector("[data-theme-toggle]");
  const NEXT = { auto: "dark", dark: "light", light: "auto" };

  // Scroll the tabs to the current one.
  const tab = document.querySelector(".tabs [aria-current]");
  if (tab) tab.parentElement.scrollLeft = tab.offsetLeft - tab.parentElement.offsetLeft - 32;

  const updateLabel = () => {
    const name = themeButton.dataset[`label${{ auto: "Auto", dark: "Dark", light: "Light" }[root.dataset.theme ?? "auto"]}`];
    themeButton.setAttribute("aria-label", name);
    themeButton.title = name;
  };

  const storeTheme = (theme) => {
    try {
      if (theme === "auto") localStorage.removeItem("theme");
      else localStorage.setItem("theme", theme);
    } catch {
      /* Without storage, the theme applies to this page only. */
    }
  };

  if (themeButton) {
    updateLabel();
    themeButton.addEventListener("click", () => {
      const theme = NEXT[root.dataset.theme ?? "auto"];
      if (theme === "auto") delete root.dataset.theme;
      else root.dataset.theme = theme;
      storeTheme(theme);
      updateLabel();
      document.dispatchEvent(new CustomEvent("themechange"));
    });
  }

  /* Announce new content by its summary; a live region would read the whole table. */
  document.addEventListener("htmx:afterSwap", ({ target }) => {
    const status = document.querySelector("[data-status]") ?? document.querySelector("[data-announcement]");
    const summary = target.querySelector("[data-summary], .empty h2");
    if (summary) status.textContent = summary.textContent.replace(/\s+/g, " ");
  });

  /* Keep focus, open details and scroll positions when a self-updating part is
     replaced. */
  const NAMES = ["aria-labelledby", "aria-label", "href"];
  const accessibleName = (node) => NAMES.map((name) => node.getAttribute(name)).find(Boolean) ?? node.textContent.trim();
  const findByName = (part, name) =>
    [...part.querySelectorAll("a, button, summary, [tabindex]")].find((node) => accessibleName(node) === name);
  let before = null;
  document.addEventListener("htmx:beforeSwap", ({ detail: { target } }) => {
    if (!target.matches('[hx-trigger^="every"]')) return;
    before = {
      id: target.id,
      name: target.contains(document.activeElement) ? accessibleName(document.activeElement) : "",
      unfolded: [...target.querySelectorAll("details[open] > summary")].map(accessibleName),
      scrolled: [...target.querySelectorAll("[role=group]")].map(({ scrollLeft, scrollTop }) => [scrollLeft, scrollTop]),
    };
  });
  document.addEventListener("htmx:afterSettle", () => {
    const part = before && document.getElementById(before.id);
    if (!part) return;
    for (const name of before.unfolded) findByName(part, name)?.closest("details").setAttribute("open", "");
    part.querySelectorAll("[role=group]").forEach((group, index) => group.scrollTo(...(before.scrolled[index] ?? [0, 0])));
    if (before.name) findByName(part, before.name)?.focus({ preventScroll: true });
    before = null;
  });

  /* Show connection errors until a request succeeds. */
  const connectionError = document.querySelector("[data-connection-error]");
  const showConnectionError = (text) => {
    connectionError.textContent = text;
    connectionError.hidden = !text;
  };
  for (const name of ["htmx:sendError", "htmx:timeout"]) document.addEventListener(name, () => showConnectionError(connectionError.dataset.unreachableText));
  document.addEventListener("htmx:responseError", () => showConnectionError(connectionError.dataset.refusedText));
  document.addEventListener("htmx:afterOnLoad", ({ detail }) => detail.successful && showConnectionError(""));

  /* Copy a text of the page, or its URL. If the browser forbids it, select the text for
     the keyboard shortcut. */
  for (const copyButton of document.querySelectorAll("[data-copy]")) {
    const source = document.getElementById(copyButton.dataset.copy);
    const label = copyButton.textContent;
    copyButton.hidden = !navigator.clipboard;
    copyButton.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(source?.textContent ?? location.href);
      } catch {
        if (source) getSelection().selectAllChildren(source);
        return showConnectionError(source ? connectionError.dataset.copyFailed : connectionError.dataset.copyFailedUrl);
      }
      showConnectionError("");
      copyButton.textContent = copyButton.dataset.copied;
      document.querySelector("[data-announcement]").textContent = copyButton.dataset.copied;
      setTimeout(() => (copyButton.textContent = label), 2000);
    });
  }

  /* Ctrl+K focuses the search field, or opens the search page if there is none. */
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    const searchInput = document.getElementById("search-text") ?? document.querySelector("input[data-global-search]");
    searchInput?.select();
    if (searchInput !== document.activeElement) document.querySelector("a[data-global-search]")?.click();
  });

  /* Collapse options on phones, so that the content comes first. */
  const phone = matchMedia("(max-width: 40rem)");
  const setCollapsed = (isCollapsed) => {
    for (const details of document.querySelectorAll("[data-collapse-on-phone]")) details.open = !isCollapsed;
  };
  if (phone.matches) setCollapsed(true);
  root.classList.remove("js-loading");
  phone.addEventListener("change", () => phone.matches || setCollapsed(false));
})();
