/* Each folder of files, and each part of a file with several, becomes a system. Its form is
   prefilled from its name and files. */
const uploadFolders = (() => {
  const { form, list, sourceOf, find, unitsOf, say, send } = upload;
  const container = find("[data-folders]");
  const newSystemForm = document.getElementById("new-system");
  const folders = new Map(); /* folder name -> its part of the form, null while it is loading */
  const MAX_DESCRIPTION_FILES = 5;
  const LEFT_OUT = "-";
  let count = 0;

  const entries = () => [...list.querySelectorAll("[data-file-entry]")];
  const unitsIn = (name) => entries().flatMap(unitsOf).filter((unit) => unit.folder === name);
  const entriesOf = (name) => unitsIn(name).map((unit) => unit.entry);
  /* Entries that are not included, such as notes and scripts, have no system. */
  const includedEntries = () => entries().filter((entry) => "stored" in entry.dataset || find("[data-include]", entry)?.checked);

  const includedUnits = () => includedEntries().flatMap(unitsOf);

  const requestFolderForm = async (name) => {
    const fields = new FormData();
    fields.set("csrfmiddlewaretoken", find("[name=csrfmiddlewaretoken]").value);
    fields.set("do", "folder");
    fields.set("name", name);
    fields.set("number", String((count += 1)));
    fields.set("study", document.getElementById("target-study").value);
    const [unit] = unitsIn(name);
    if (unit?.part) {
      fields.set("is_part", "1");
      for (const [fact, value] of Object.entries(unit.facts)) fields.set(fact, value);
    }
    const descriptions = entriesOf(name).filter((entry) => "describesSystem" in entry.dataset && !entry.dataset.modified);
    for (const entry of descriptions.slice(0, MAX_DESCRIPTION_FILES)) fields.append("file", sourceOf.get(entry).file);
    try {
      const folder = find("[data-folder-name]", await send(form.action, fields));
      for (const field of folder.querySelectorAll("[data-new-system-fields][hidden] [data-field]")) field.disabled = true;
      if (folders.has(name)) folders.set(name, folder);
      return folder;
    } catch {
      folders.delete(name); // request it again with the next file
      return null;
    }
  };

  /* Hide the common system field while every file has a system by its folder. */
  const renderFolders = () => {
    const names = new Set(includedUnits().map((unit) => unit.folder));
    const parts = [...folders].flatMap(([name, folder]) => (folder && names.has(name) ? [folder] : []));
    /* A single folder that does not describe a system needs no form of its own. */
    const visible = parts.length > 1 || parts.some((folder) => "systemKnown" in folder.dataset) ? parts : [];
    if (visible.length !== container.children.length || visible.some((folder, index) => container.children[index] !== folder)) container.replaceChildren(...visible);
    for (const folder of visible) {
      const n = entriesOf(folder.dataset.folderName).length;
      find("[data-folder-count]", folder).textContent = say("folder-files", { n });
    }
    const isRequired = !visible.length || includedUnits().some((unit) => !folderOf(unit));
    for (const element of form.querySelectorAll("[data-single-system]")) element.hidden = !isRequired;
    document.getElementById("target-system").required = isRequired;
  };

  const folderOf = (unit) => {
    const folder = folders.get(unit.folder);
    return folder?.isConnected ? folder : null;
  };

  let pendingUpdate = Promise.resolve();
  const updateFolders = async () => {
    const names = new Set(entries().flatMap(unitsOf).map((unit) => unit.folder));
    for (const name of folders.keys()) if (!names.has(name)) folders.delete(name);
    for (const name of new Set(includedUnits().map((unit) => unit.folder).filter(Boolean))) {
      if (folders.has(name)) continue;
      folders.set(name, null);
      await requestFolderForm(name);
    }
    renderFolders();
    list.dispatchEvent(new Event("systemschanged"));
  };

  list.addEventListener("previewschanged", ({ detail }) => {
    if (!detail.unfinished) pendingUpdate = pendingUpdate.then(updateFolders);
  });
  list.addEventListener("change", ({ target }) => {
    if (target.matches("[data-include]")) pendingUpdate = pendingUpdate.then(updateFolders);
  });

  /* Folders mostly share a machine: copy the chosen host to folders without one. */
  container.addEventListener("change", ({ target }) => {
    const { field } = target.dataset;
    if (field !== "host" && field !== "new_host") return;
    for (const other of container.querySelectorAll(`[data-field=${field}]`)) other.value ||= target.value;
  });

  container.addEventListener("change", ({ target }) => {
    if (!target.matches("[data-folder-system]")) return;
    const newFields = find("[data-new-system-fields]", target.closest("[data-folder-name]"));
    newFields.hidden = Boolean(target.value);
    for (const field of newFields.querySelectorAll("[data-field]")) field.disabled = newFields.hidden;
  });

  /* Register the new systems of these entries; return whether all succeeded. */
  const registerSystems = async (entries) => {
    await pendingUpdate;
    const parts = new Set(entries.flatMap(unitsOf).map(folderOf).filter(Boolean));
    let isDone = true;
    for (const folder of parts) {
      const problem = find("[data-folder-problem]", folder);
      const menu = find("[data-folder-system]", folder);
      problem.hidden = true;
      if (menu.value) continue;
      const fields = new FormData(newSystemForm);
      for (const field of folder.querySelectorAll("[data-field]")) fields.set(field.dataset.field, field.value);
      try {
        const systems = await send(newSystemForm.action, fields);
        const created = find("option[selected]", systems);
        const option = document.createElement("option");
        option.value = created.value;
        option.textContent = created.textContent;
        menu.append(option);
        menu.value = option.value;
        menu.dispatchEvent(new Event("change", { bubbles: true }));
      } catch (error) {
        problem.textContent = error.message;
        problem.hidden = false;
        isDone = false;
      }
    }
    return isDone;
  };

  const systemOf = (unit) => {
    const folder = folderOf(unit);
    return folder ? find("[data-folder-system]", folder).value : document.getElementById("target-system").value;
  };

  /* Return the name of a unit's system as chosen; "" for a part that is not stored. */
  const systemName = (unit) => {
    const folder = folderOf(unit);
    const menu = folder ? find("[data-folder-system]", folder) : document.getElementById("target-system");
    if (menu.value === LEFT_OUT) return "";
    if (menu.value) return menu.selectedOptions[0].textContent.trim();
    return folder ? unit.folder : say("no-system");
  };

  return { includedEntries, registerSystems, systemOf, systemName, LEFT_OUT };
})();
