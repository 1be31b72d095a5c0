/* What was chosen of the files read on the upload page is stored, and followed until it
   is compared. */
(() => {
  const { form, sources, find, say, unstored, inTurn, send, reasonOf, follow, fieldsOf } = upload;
  const status = find("[data-stored-status]");
  const total = find("[data-total]");
  const button = find(".upload-button");

  const chosenOnes = () => unstored().filter((entry) => find("[data-pick]", entry)?.checked);

  const store = async (source, entries) => {
    const bars = entries.map(uploadEntry.progress);
    try {
      const answer = await send(form.action, fieldsOf(source, "store", entries), (share) => bars.forEach((bar) => bar(share)));
      for (const entry of entries) {
        const outcome = find(`[data-outcome="${entry.dataset.index}"]`, answer);
        if (outcome) uploadEntry.settle(entry, outcome);
        else uploadEntry.fail(entry, say("unexpected"));
      }
    } catch (error) {
      const text = await reasonOf(error, source);
      for (const entry of entries) uploadEntry.fail(entry, text);
    }
  };

  const bySource = (entries) => {
    const groups = new Map();
    for (const entry of entries) {
      const source = sources.get(entry);
      groups.set(source, [...(groups.get(source) ?? []), entry]);
    }
    return [...groups];
  };

  const storeAll = async (chosen) => {
    const count = () => {
      const done = chosen.filter((entry) => "stored" in entry.dataset).length;
      total.value = done / chosen.length;
      status.textContent = say("stored", { done, all: chosen.length });
    };
    total.hidden = false;
    count();
    await Promise.all(bySource(chosen).map(([source, entries]) => inTurn(() => store(source, entries)).then(count)));
  };

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    /* Enter in a field comes here past the button and its checks. */
    if (button.disabled || !form.reportValidity()) return;
    const chosen = chosenOnes();
    if (!chosen.length) {
      status.textContent = say("nothing");
      return;
    }
    const study = document.getElementById("target-study").selectedOptions[0];
    button.disabled = true;
    await storeAll(chosen);
    button.disabled = false;
    total.hidden = true;
    status.focus();
    if (!chosen.some((entry) => "stored" in entry.dataset)) return;
    const link = find("[data-runs-link]");
    link.href = study.dataset.runs;
    link.hidden = false;
    await follow(study.dataset.processing);
  });

  addEventListener("beforeunload", (event) => {
    if (chosenOnes().length) event.preventDefault();
  });
})();
