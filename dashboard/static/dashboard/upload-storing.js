/* What was chosen of the files read on the upload page is stored, and followed until it
   is compared. */
(() => {
  const { form, sources, find, say, unstored, inTurn, send, fieldsOf } = upload;
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
      for (const entry of entries) uploadEntry.fail(entry, error.message);
    }
  };

  /* What is stored is read and compared by others: say how far they are. */
  const follow = async (address) => {
    const place = find("[data-processing-of]");
    for (let wait = 200; ; wait = 1000) {
      await new Promise((resolve) => setTimeout(resolve, wait));
      const answer = await fetch(address).catch(() => null);
      if (!answer) continue; // away for a moment
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      place.replaceChildren(...page.body.children);
      place.dispatchEvent(new Event("partcome", { bubbles: true }));
      if (!find("[data-unfinished]", place)) return;
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
    const chosen = chosenOnes();
    if (!chosen.length) {
      status.textContent = say("nothing");
      return;
    }
    const campaign = document.getElementById("target-campaign").selectedOptions[0];
    button.disabled = true;
    await storeAll(chosen);
    button.disabled = false;
    const link = find("[data-runs-link]");
    link.href = campaign.dataset.runs;
    link.hidden = false;
    status.focus();
    await follow(campaign.dataset.processing);
  });

  addEventListener("beforeunload", (event) => {
    if (chosenOnes().length) event.preventDefault();
  });
})();
