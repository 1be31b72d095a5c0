/* One entry of the upload page's list: what is read in a file, and what became of it. */
const uploadEntry = (() => {
  const { find } = upload;

  const trouble = (entry, text, again) => {
    const place = find("[data-trouble]", entry);
    place.textContent = text;
    place.hidden = false;
    find("progress", entry).hidden = true;
    const badge = find("[data-badge]", entry);
    badge.className = "badge badge-rejected";
    badge.textContent = badge.dataset.unread;
    const retry = find("[data-again]", entry);
    retry.hidden = !again;
    retry.onclick = again;
  };

  const hideTrouble = (entry) => {
    find("[data-trouble]", entry).hidden = true;
    find("[data-again]", entry).hidden = true;
    const badge = find("[data-badge]", entry);
    badge.className = "badge badge-received";
    badge.textContent = badge.dataset.reading;
  };

  const progress = (entry) => {
    const bar = find("progress", entry);
    bar.hidden = false;
    return (share) => {
      if (share < 1) bar.value = share;
      else bar.removeAttribute("value"); // sent; the server is at work
    };
  };

  /* The menus of all files, once more for one of them. */
  const furnish = (entry) => {
    const place = find("[data-say-tool]", entry);
    if (!place) return;
    for (const name of ["tool", "locale"]) {
      const label = document.createElement("label");
      label.className = "field";
      const text = document.createElement("span");
      text.className = "field-label";
      text.textContent = place.getAttribute(`data-label-${name}`);
      const menu = document.getElementById(`upload-${name}`).cloneNode(true);
      menu.removeAttribute("id");
      menu.removeAttribute("name");
      menu.dataset.menu = name;
      menu.value = place.getAttribute(`data-say-${name}`);
      label.append(text, menu);
      place.append(label);
    }
  };

  const fail = (entry, text) => {
    const outcome = document.createElement("p");
    outcome.className = "upload-outcome upload-failed";
    outcome.textContent = text;
    find("[data-result]", entry).replaceChildren(outcome);
    find("progress", entry).hidden = true;
    delete entry.dataset.later;
  };

  const settle = (entry, outcome) => {
    find("progress", entry).hidden = true;
    find("[data-result]", entry).replaceChildren(outcome);
    if (!outcome.matches("[data-stored]")) return;
    entry.dataset.stored = "";
    const pick = find("[data-pick]", entry);
    pick.checked = false;
    pick.disabled = true;
    find(".upload-say", entry)?.remove();
    const results = find(".upload-results", entry);
    if (results) results.open = false;
  };

  return { trouble, hideTrouble, progress, furnish, fail, settle };
})();
