/* One entry of the file list: its preview and the result of storing it. */
const uploadEntry = (() => {
  const { find } = upload;

  const showProblem = (entry, message, onRetry) => {
    const target = find("[data-entry-problem]", entry);
    target.textContent = message;
    target.hidden = false;
    find("progress", entry).hidden = true;
    const badge = find("[data-badge]", entry);
    badge.className = "badge badge-rejected";
    badge.textContent = badge.dataset.unread;
    const retry = find("[data-retry]", entry);
    retry.hidden = !onRetry;
    retry.onclick = onRetry;
  };

  const hideProblem = (entry) => {
    find("[data-entry-problem]", entry).hidden = true;
    find("[data-retry]", entry).hidden = true;
    const badge = find("[data-badge]", entry);
    badge.className = "badge badge-received";
    badge.textContent = badge.dataset.reading;
  };

  const progress = (entry) => {
    const bar = find("progress", entry);
    bar.hidden = false;
    return (fraction) => {
      if (fraction < 1) bar.value = fraction;
      else bar.removeAttribute("value"); // sent completely; the server is working
    };
  };

  /* Add menus for one file: copies of the menus that apply to all files. */
  const addHintMenus = (entry) => {
    const target = find("[data-hint-tool]", entry);
    if (!target) return;
    for (const name of ["tool", "locale"]) {
      const label = document.createElement("label");
      label.className = "field";
      const text = document.createElement("span");
      text.className = "field-label";
      text.textContent = target.getAttribute(`data-label-${name}`);
      const menu = document.getElementById(`upload-${name}`).cloneNode(true);
      menu.removeAttribute("id");
      menu.removeAttribute("name");
      menu.dataset.menu = name;
      menu.value = target.getAttribute(`data-hint-${name}`);
      label.append(text, menu);
      target.append(label);
    }
  };

  const showFailure = (entry, message) => {
    const outcome = document.createElement("p");
    outcome.className = "upload-outcome upload-failed";
    outcome.textContent = message;
    find("[data-result]", entry).append(outcome);
    find("progress", entry).hidden = true;
    delete entry.dataset.deferredFile;
    if ("stored" in entry.dataset) reopen(entry);
  };

  /* One part of the file was stored, another was not: it can be sent again. */
  const reopen = (entry) => {
    delete entry.dataset.stored;
    const checkbox = find("[data-include]", entry);
    checkbox.disabled = false;
    checkbox.checked = true;
  };

  const showStored = (entry, outcome) => {
    find("progress", entry).hidden = true;
    find("[data-result]", entry).append(outcome);
    if (find(".upload-failed", entry)) {
      if ("stored" in entry.dataset) reopen(entry);
      return;
    }
    entry.dataset.stored = "";
    const checkbox = find("[data-include]", entry);
    checkbox.checked = false;
    checkbox.disabled = true;
    find(".upload-hints", entry)?.remove();
    const results = find(".upload-results", entry);
    if (results) results.open = false;
  };

  return { showProblem, hideProblem, progress, addHintMenus, showFailure, showStored };
})();
