/* POST forms: prevent double submission, use the current CSRF token, and keep the input
   across a rejection or an expired session. Filters: keep the URL short. */
(() => {
  const DRAFT = "draft";
  const RESUBMIT_AFTER_MS = 10_000;
  const isPost = (form) => form.getAttribute("method")?.toLowerCase() === "post";

  /* Omit empty parameters, and defaults of menus, from the URL of a filter. */
  document.addEventListener("formdata", ({ target: form, formData }) => {
    if (!form.matches("[data-short-url]")) return;
    for (const [name, value] of [...formData]) {
      const menu = form.elements[name];
      if (!value || (menu instanceof HTMLSelectElement && !menu.selectedIndex)) formData.delete(name);
    }
  });

  /* Drafts */

  const SECRET = ["hidden", "password", "file", "submit", "button"];
  const fields = (form) => [...form.elements].filter(({ name, type }) => name && !SECRET.includes(type));
  const isCheckable = ({ type }) => type === "checkbox" || type === "radio";

  /* Run an action with the session storage; return null if storage is unavailable. */
  const withStorage = (action) => {
    try {
      return action(sessionStorage);
    } catch {
      return null;
    }
  };

  const saveDraft = (form) => {
    const draft = {
      page: location.pathname,
      action: form.getAttribute("action"),
      fields: fields(form).map(({ name, value, checked }) => ({ name, value, checked })),
    };
    withStorage((storage) => storage.setItem(DRAFT, JSON.stringify(draft)));
  };

  const fillForm = (form, draft) => {
    for (const field of fields(form)) {
      const stored = draft.fields.find(
        ({ name, value }) => name === field.name && (!isCheckable(field) || value === field.value),
      );
      if (!stored) continue;
      if (isCheckable(field)) field.checked = stored.checked;
      else field.value = stored.value;
      const isChanged = isCheckable(field) ? stored.checked : stored.value !== field.defaultValue;
      for (let details = field.closest("details"); isChanged && details; details = details.parentElement.closest("details")) details.open = true;
    }
  };

  /* Restore a draft after a sign-in, or if the page reports a failed submission. */
  const restore = (draft) => {
    const form = [...document.forms].find(
      (candidate) => isPost(candidate) && candidate.getAttribute("action") === draft.action && draft.page === location.pathname,
    );
    const note = document.querySelector("[data-draft-restored]");
    if (!form || !fields(form).length) return;
    fillForm(form, draft);
    note.textContent = note.dataset.text;
    note.hidden = false;
    fields(form)[0].focus();
  };

  const draft = withStorage((storage) => JSON.parse(storage.getItem(DRAFT)));
  const isSignInPage = document.querySelector("[data-keep-draft]");
  if (draft && isSignInPage) {
    withStorage((storage) => storage.setItem(DRAFT, JSON.stringify({ ...draft, isRestorable: true })));
  } else if (draft) {
    withStorage((storage) => storage.removeItem(DRAFT));
    if (draft.isRestorable || document.querySelector("[data-submit-failed]")) restore(draft);
  }

  /* Submission */

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || !isPost(form)) return;
    if ("sent" in form.dataset) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "";
    setTimeout(() => delete form.dataset.sent, RESUBMIT_AFTER_MS);
    /* A sign-in in another tab replaced the CSRF token of this page. */
    const cookie = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/);
    const tokenField = form.querySelector("[name=csrfmiddlewaretoken]");
    if (cookie && tokenField) tokenField.value = cookie[1];
    if (!isSignInPage) saveDraft(form);
  });
  /* Allow another submission when the page is shown again. */
  addEventListener("pageshow", () => {
    for (const form of document.forms) delete form.dataset.sent;
  });

  /* Do not show a page from the back/forward cache after a sign-out. */
  const SIGNED_OUT = "signed-out";
  document.addEventListener("submit", ({ target: form }) => {
    if ("signOut" in form.dataset) withStorage(() => localStorage.setItem(SIGNED_OUT, Date.now()));
  });
  addEventListener("pageshow", ({ persisted }) => {
    if (!persisted || !(withStorage(() => localStorage.getItem(SIGNED_OUT)) > performance.timeOrigin)) return;
    document.documentElement.hidden = true;
    location.reload();
  });

  /* Focus the first problem: an empty invalid field, else another invalid field, else
     the error message. */
  const message = document.querySelector("main [data-focus-problem]");
  const namedField = message?.dataset.invalidField && document.getElementsByName(message.dataset.invalidField)[0];
  if (namedField) {
    namedField.closest("details:not([open])")?.setAttribute("open", "");
    namedField.setAttribute("aria-invalid", "true");
    namedField.setAttribute("aria-describedby", message.id);
  }
  const invalid = [...document.querySelectorAll("main [aria-invalid=true]")];
  const focusTarget = invalid.find(({ value }) => !value) ?? invalid[0] ?? message;
  if (focusTarget && focusTarget === message) focusTarget.tabIndex = -1;
  focusTarget?.focus();
})();
