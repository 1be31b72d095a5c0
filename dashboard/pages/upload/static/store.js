/* Store the included files and follow their processing until they are compared. */
(() => {
  const { form, sourceOf, find, say, unitsOf, pendingEntries, enqueue, send, failureReason, followProcessing, formDataFor } = upload;
  const status = find("[data-stored-status]");
  const progressBar = find("[data-total]");
  const button = find(".upload-button");

  const includedEntries = () => pendingEntries().filter((entry) => find("[data-include]", entry)?.checked);

  const storeGroup = async ({ source, system, part, entries }) => {
    const bars = entries.map(uploadEntry.progress);
    try {
      const fields = formDataFor(source, "store", entries);
      fields.set("system", system);
      if (part) fields.set("part", part);
      const fragment = await send(form.action, fields, (fraction) => bars.forEach((bar) => bar(fraction)));
      for (const entry of entries) {
        const outcome = find(`[data-stored-index="${entry.dataset.fileIndex}"]`, fragment);
        if (outcome) uploadEntry.showStored(entry, outcome);
        else uploadEntry.showFailure(entry, say("unexpected"));
      }
    } catch (error) {
      const text = await failureReason(error, source);
      for (const entry of entries) uploadEntry.showFailure(entry, text);
    }
  };

  /* Group units by file, system and part: an archive is sent once per system. */
  const groupBySource = (entries) => {
    const groups = [];
    for (const unit of entries.flatMap(unitsOf)) {
      const { entry, part } = unit;
      const source = sourceOf.get(entry);
      const system = uploadFolders.systemOf(unit);
      if (system === uploadFolders.LEFT_OUT) continue;
      const group = groups.find((group) => group.source === source && group.system === system && group.part === part);
      if (group) group.entries.push(entry);
      else groups.push({ source, system, part, entries: [entry] });
    }
    return groups;
  };

  /* Show what is missing for a verdict after all results are compared. */
  const showVerdictProgress = async (study, systems) => {
    const fields = new FormData();
    fields.set("csrfmiddlewaretoken", find("[name=csrfmiddlewaretoken]").value);
    fields.set("do", "progress");
    fields.set("study", study);
    for (const system of systems) fields.append("systems", system);
    const fragment = await send(form.action, fields).catch(() => null);
    if (fragment) find("[data-verdict-progress]").replaceChildren(fragment);
  };

  const storeAll = async (entries) => {
    for (const entry of entries) find("[data-result]", entry).replaceChildren();
    const updateTotal = () => {
      const done = entries.filter((entry) => "stored" in entry.dataset).length;
      progressBar.value = done / entries.length;
      status.textContent = say("stored", { done, all: entries.length });
    };
    progressBar.hidden = false;
    updateTotal();
    await Promise.all(groupBySource(entries).map((group) => enqueue(() => storeGroup(group)).then(updateTotal)));
  };

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    /* Pressing Enter in a field submits even if the button is disabled. */
    if (button.disabled || !form.reportValidity()) return;
    const entries = includedEntries();
    if (!entries.length) {
      status.textContent = say("nothing");
      return;
    }
    if (find("[data-pending] progress:not([hidden]), [data-deferred-file]")) {
      status.textContent = say("reading");
      return;
    }
    const study = document.getElementById("target-study").selectedOptions[0];
    button.disabled = true;
    if (!(await uploadFolders.registerSystems(entries))) {
      button.disabled = false;
      find("[data-folder-problem]:not([hidden])")?.closest("[data-folder-name]").scrollIntoView({ block: "nearest" });
      return;
    }
    const systems = new Set(entries.flatMap(unitsOf).map(uploadFolders.systemOf));
    systems.delete(uploadFolders.LEFT_OUT);
    find("[data-verdict-progress]").replaceChildren();
    find("[data-banner]").hidden = true;
    await storeAll(entries);
    button.disabled = false;
    progressBar.hidden = true;
    const stored = entries.filter((entry) => "stored" in entry.dataset).length;
    showBanner(stored === entries.length ? "good" : "bad", { done: stored, all: entries.length });
    if (!stored) return;
    const link = find("[data-runs-link]");
    link.href = study.dataset.runs;
    link.hidden = false;
    await followProcessing(study.dataset.processing);
    await showVerdictProgress(study.value, systems);
    const next = find("[data-banner-link]");
    next.href = study.dataset.compare;
    next.hidden = false;
    find("[data-banner-waiting]").hidden = true;
  });

  /* Show at the top of the page how many files were stored, and a link to the comparison. */
  const showBanner = (kind, counts) => {
    const banner = find("[data-banner]");
    banner.className = `note note-${kind}`;
    find("[data-banner-text]", banner).textContent = say(kind === "good" ? "stored-all" : "stored-some", counts);
    find("[data-banner-link]", banner).hidden = true;
    find("[data-banner-waiting]", banner).hidden = !counts.done;
    banner.hidden = false;
    banner.focus({ preventScroll: true });
    banner.scrollIntoView({ block: "start" });
  };

  addEventListener("beforeunload", (event) => {
    if (includedEntries().length) event.preventDefault();
  });
})();
