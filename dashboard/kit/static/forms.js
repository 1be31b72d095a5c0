/* Forms that change something: sent once at a time, with the mark that is valid now, and
   what was filled in outlives a refusal and a sign-in that had ended meanwhile. */
(() => {
  const DRAFT = "draft";
  const PATIENCE_MS = 10_000;
  const changes = (form) => form.getAttribute("method")?.toLowerCase() === "post";

  /* Drafts -------------------------------------------------------------------- */

  const SECRET = ["hidden", "password", "file", "submit", "button"];
  const fields = (form) => [...form.elements].filter(({ name, type }) => name && !SECRET.includes(type));
  const isTicked = ({ type }) => type === "checkbox" || type === "radio";

  /* Without storage nothing is kept, and the form is sent all the same. */
  const stored = (act) => {
    try {
      return act(sessionStorage);
    } catch {
      return null;
    }
  };

  const keep = (form) => {
    const draft = {
      page: location.pathname,
      action: form.getAttribute("action"),
      fields: fields(form).map(({ name, value, checked }) => ({ name, value, checked })),
    };
    stored((storage) => storage.setItem(DRAFT, JSON.stringify(draft)));
  };

  const fill = (form, draft) => {
    for (const field of fields(form)) {
      const said = draft.fields.find(
        ({ name, value }) => name === field.name && (!isTicked(field) || value === field.value),
      );
      if (!said) continue;
      if (isTicked(field)) field.checked = said.checked;
      else field.value = said.value;
      const isNews = isTicked(field) ? said.checked : said.value !== field.defaultValue;
      for (let fold = field.closest("details"); isNews && fold; fold = fold.parentElement.closest("details")) fold.open = true;
    }
  };

  /* After a sign-in in between, or where this page says that nothing came of it. */
  const restore = (draft) => {
    const form = [...document.forms].find(
      (each) => changes(each) && each.getAttribute("action") === draft.action && draft.page === location.pathname,
    );
    const note = document.querySelector("[data-restored]");
    if (!form || !fields(form).length) return;
    fill(form, draft);
    note.textContent = note.dataset.say;
    note.hidden = false;
    fields(form)[0].focus();
  };

  const draft = stored((storage) => JSON.parse(storage.getItem(DRAFT)));
  const isBetween = document.querySelector("[data-keeps-draft]");
  if (draft && isBetween) {
    stored((storage) => storage.setItem(DRAFT, JSON.stringify({ ...draft, isKept: true })));
  } else if (draft) {
    stored((storage) => storage.removeItem(DRAFT));
    if (draft.isKept || document.querySelector("[data-in-vain]")) restore(draft);
  }

  /* Sending ------------------------------------------------------------------- */

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || !changes(form)) return;
    if ("sent" in form.dataset) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "";
    setTimeout(() => delete form.dataset.sent, PATIENCE_MS);
    /* Who signed in elsewhere meanwhile has a new mark, and this page the old one. */
    const mark = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/);
    const old = form.querySelector("[name=csrfmiddlewaretoken]");
    if (mark && old) old.value = mark[1];
    if (!isBetween) keep(form);
  });
  /* Who comes back to the page may send it again. */
  addEventListener("pageshow", () => {
    for (const form of document.forms) delete form.dataset.sent;
  });

  /* What a browser kept of a page is not shown to whoever comes after a sign-out. */
  const SIGNED_OUT = "signed-out";
  document.addEventListener("submit", ({ target: form }) => {
    if ("signOut" in form.dataset) stored(() => localStorage.setItem(SIGNED_OUT, Date.now()));
  });
  addEventListener("pageshow", ({ persisted }) => {
    if (!persisted || !(stored(() => localStorage.getItem(SIGNED_OUT)) > performance.timeOrigin)) return;
    document.documentElement.hidden = true;
    location.reload();
  });

  /* What is wrong is the first thing that the keyboard and a screen reader meet: a field
     that is empty, the one that a refusal names, or else the refusal. */
  const refusal = document.querySelector("main [data-problem-first]");
  const named = refusal?.dataset.wrong && document.getElementsByName(refusal.dataset.wrong)[0];
  if (named) {
    named.closest("details:not([open])")?.setAttribute("open", "");
    named.setAttribute("aria-invalid", "true");
    named.setAttribute("aria-describedby", refusal.id);
  }
  const invalid = [...document.querySelectorAll("main [aria-invalid=true]")];
  const wrong = invalid.find(({ value }) => !value) ?? invalid[0] ?? refusal;
  if (wrong && wrong === refusal) wrong.tabIndex = -1;
  wrong?.focus();
})();
