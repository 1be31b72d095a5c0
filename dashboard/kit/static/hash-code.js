/* Submit the code from the URL fragment, which is not sent to the server by itself. */
(() => {
  const form = document.querySelector("[data-hash-code]");
  const code = location.hash.slice(1);
  if (!form || !code) return;
  history.replaceState(null, "", location.pathname);
  form.elements.code.value = code;
  form.requestSubmit();
})();
