/* The code stands behind the #, where no server sees it: put it into the form. */
(() => {
  const form = document.querySelector("[data-code-behind]");
  const code = location.hash.slice(1);
  if (!form || !code) return;
  history.replaceState(null, "", location.pathname);
  form.elements.code.value = code;
  form.requestSubmit();
})();
