/* Ask the browser for a passkey or its answer, and send what it says with the form. */
(() => {
  const form = document.querySelector("[data-passkey]");
  const question = document.getElementById("passkey-question");
  if (!form || !question) return;
  const trouble = form.querySelector("[data-passkey-trouble]");
  const say = (text) => { trouble.textContent = text; trouble.hidden = false; };

  const asked = async () => {
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
    // The guard against two clicks takes this one for the first: it is not sent yet.
    event.stopImmediatePropagation();
    trouble.hidden = true;
    if (!window.PublicKeyCredential || !PublicKeyCredential.parseRequestOptionsFromJSON) {
      say(trouble.dataset.missing);
      return;
    }
    try {
      const credential = await asked();
      form.elements.credential.value = JSON.stringify(credential.toJSON());
      form.requestSubmit();
    } catch (error) {
      say(trouble.dataset.failed);
    }
  }, { capture: true });
})();
