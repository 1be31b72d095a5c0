/* Create or use a passkey and submit the credential with the form. */
(() => {
  const form = document.querySelector("[data-passkey]");
  const question = document.getElementById("passkey-question");
  if (!form || !question) return;
  const errorBox = form.querySelector("[data-passkey-errors]");
  const showError = (text) => { errorBox.textContent = text; errorBox.hidden = false; };

  const requestCredential = async () => {
    const { publicKey } = JSON.parse(question.textContent);
    if (form.dataset.passkey === "make") {
      const options = PublicKeyCredential.parseCreationOptionsFromJSON(publicKey);
      return navigator.credentials.create({ publicKey: options });
    }
    const options = PublicKeyCredential.parseRequestOptionsFromJSON(publicKey);
    return navigator.credentials.get({ publicKey: options });
  };

  form.addEventListener("submit", async (event) => {
    if (form.elements.credential.value) return;
    event.preventDefault();
    // Keep this event from the guard against double submission; the form is not sent yet.
    event.stopImmediatePropagation();
    errorBox.hidden = true;
    if (!window.PublicKeyCredential || !PublicKeyCredential.parseRequestOptionsFromJSON) {
      showError(errorBox.dataset.missing);
      return;
    }
    try {
      const credential = await requestCredential();
      form.elements.credential.value = JSON.stringify(credential.toJSON());
      form.requestSubmit();
    } catch (error) {
      showError(errorBox.dataset.failed);
    }
  }, { capture: true });
})();
