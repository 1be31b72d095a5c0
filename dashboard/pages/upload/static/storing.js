/* What was chosen of the files read on the upload page is stored, and followed until it
   is compared. */
(() => {
  const { form, sources, find, say, unstored, inTurn, send, reasonOf, follow, fieldsOf } = upload;
  const status = find("[data-stored-status]");
  const total = find("[data-total]");
  const button = find(".upload-button");

  const chosenOnes = () => unstored().filter((entry) => find("[data-pick]", entry)?.checked);

  const store = async ({ source, system, entries }) => {
    const bars = entries.map(uploadEntry.progress);
    try {
      const fields = fieldsOf(source, "store", entries);
      fields.set("system", system);
      const answer = await send(form.action, fields, (share) => bars.forEach((bar) => bar(share)));
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

  /* An archive is sent once for each of its folders' systems. */
  const bySource = (entries) => {
    const groups = [];
    for (const entry of entries) {
      const source = sources.get(entry);
      const system = uploadFolders.systemOf(entry);
      const group = groups.find((one) => one.source === source && one.system === system);
      if (group) group.entries.push(entry);
      else groups.push({ source, system, entries: [entry] });
    }
    return groups;
  };

  /* What their tests need for a verdict, once all is compared. */
  const tell = async (study, systems) => {
    const fields = new FormData();
    fields.set("csrfmiddlewaretoken", find("[name=csrfmiddlewaretoken]").value);
    fields.set("do", "standing");
    fields.set("study", study);
    for (const system of systems) fields.append("systems", system);
    const answer = await send(form.action, fields).catch(() => null);
    if (answer) find("[data-standing]").replaceChildren(answer);
  };

  const storeAll = async (chosen) => {
    const count = () => {
      const done = chosen.filter((entry) => "stored" in entry.dataset).length;
      total.value = done / chosen.length;
      status.textContent = say("stored", { done, all: chosen.length });
    };
    total.hidden = false;
    count();
    await Promise.all(bySource(chosen).map((group) => inTurn(() => store(group)).then(count)));
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
    if (find("[data-waiting] progress:not([hidden]), [data-later]")) {
      status.textContent = say("reading");
      return;
    }
    const study = document.getElementById("target-study").selectedOptions[0];
    button.disabled = true;
    if (!(await uploadFolders.register(chosen))) {
      button.disabled = false;
      find("[data-folder-problem]:not([hidden])")?.closest("[data-folder-of]").scrollIntoView({ block: "nearest" });
      return;
    }
    const systems = new Set(chosen.map(uploadFolders.systemOf));
    find("[data-standing]").replaceChildren();
    await storeAll(chosen);
    button.disabled = false;
    total.hidden = true;
    // What was stored is told where the button is: the page stays where its reader is.
    status.focus({ preventScroll: true });
    status.scrollIntoView({ block: "nearest" });
    if (!chosen.some((entry) => "stored" in entry.dataset)) return;
    const link = find("[data-runs-link]");
    link.href = study.dataset.runs;
    link.hidden = false;
    await follow(study.dataset.processing);
    await tell(study.value, systems);
  });

  addEventListener("beforeunload", (event) => {
    if (chosenOnes().length) event.preventDefault();
  });
})();
