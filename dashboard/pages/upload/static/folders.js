/* Folders among the files of the upload page: each becomes a system, asked for with what
   its name and its files say. */
const uploadFolders = (() => {
  const { form, list, sources, find, say, send } = upload;
  const place = find("[data-folders]");
  const maker = document.getElementById("new-system");
  const folders = new Map(); /* by name: its part of the form, once that has come */
  const MOST_TOLD = 5;
  let count = 0;

  const entries = () => [...list.querySelectorAll("[data-item]")];
  const entriesOf = (name) => entries().filter((entry) => entry.dataset.folder === name);
  /* What is left out, a note or a script, belongs to no system. */
  const wanted = () => entries().filter((entry) => "stored" in entry.dataset || find("[data-pick]", entry)?.checked);

  const ask = async (name) => {
    const fields = new FormData();
    fields.set("csrfmiddlewaretoken", find("[name=csrfmiddlewaretoken]").value);
    fields.set("do", "folder");
    fields.set("name", name);
    fields.set("place", String((count += 1)));
    fields.set("study", document.getElementById("target-study")?.value ?? "");
    const told = entriesOf(name).filter((entry) => "tellsSystem" in entry.dataset && !entry.dataset.modified);
    for (const entry of told.slice(0, MOST_TOLD)) fields.append("file", sources.get(entry).file);
    try {
      const part = find("[data-folder-of]", await send(form.action, fields));
      for (const field of part.querySelectorAll("[data-folder-new][hidden] [data-field]")) field.disabled = true;
      if (folders.has(name)) folders.set(name, part);
      return part;
    } catch {
      folders.delete(name); // asked again with the next file
      return null;
    }
  };

  /* The system of all files steps back while each file has a folder's. */
  const show = () => {
    const names = new Set(wanted().map((entry) => entry.dataset.folder));
    const parts = [...folders].flatMap(([name, part]) => (part && names.has(name) ? [part] : []));
    /* One folder that says nothing about its system is only where the files were. */
    const shown = parts.length > 1 || parts.some((part) => "known" in part.dataset) ? parts : [];
    if (shown.length !== place.children.length || shown.some((part, at) => place.children[at] !== part)) place.replaceChildren(...shown);
    for (const part of shown) {
      const n = entriesOf(part.dataset.folderOf).length;
      find("[data-folder-count]", part).textContent = say("folder-files", { n });
    }
    const alone = wanted().some((entry) => !partOf(entry));
    const isAsked = !shown.length || alone;
    for (const each of form.querySelectorAll("[data-one-system]")) each.hidden = !isAsked;
    document.getElementById("target-system").required = isAsked;
  };

  const partOf = (entry) => {
    const part = folders.get(entry.dataset.folder);
    return part?.isConnected ? part : null;
  };

  let work = Promise.resolve();
  const arrange = async () => {
    const all = new Set(entries().map((entry) => entry.dataset.folder));
    for (const name of folders.keys()) if (!all.has(name)) folders.delete(name);
    for (const name of new Set(wanted().map((entry) => entry.dataset.folder).filter(Boolean))) {
      if (folders.has(name)) continue;
      folders.set(name, null);
      await ask(name);
    }
    show();
  };

  list.addEventListener("tallied", ({ detail }) => {
    if (!detail.open) work = work.then(arrange);
  });
  list.addEventListener("change", ({ target }) => {
    if (target.matches("[data-pick]")) work = work.then(arrange);
  });

  /* Folders are mostly of one machine: what is said of it once is said of all that say nothing yet. */
  place.addEventListener("change", ({ target }) => {
    const { field } = target.dataset;
    if (field !== "host" && field !== "new_host") return;
    for (const other of place.querySelectorAll(`[data-field=${field}]`)) other.value ||= target.value;
  });

  place.addEventListener("change", ({ target }) => {
    if (!target.matches("[data-folder-system]")) return;
    const asked = find("[data-folder-new]", target.closest("[data-folder-of]"));
    asked.hidden = Boolean(target.value);
    for (const field of asked.querySelectorAll("[data-field]")) field.disabled = asked.hidden;
  });

  /* Register the systems of these entries' folders: all of them, or say where it failed. */
  const register = async (entries) => {
    await work;
    const parts = new Set(entries.map(partOf).filter(Boolean));
    let isDone = true;
    for (const part of parts) {
      const problem = find("[data-folder-problem]", part);
      const chosen = find("[data-folder-system]", part);
      problem.hidden = true;
      if (chosen.value) continue;
      const fields = new FormData(maker);
      for (const field of part.querySelectorAll("[data-field]")) fields.set(field.dataset.field, field.value);
      try {
        const systems = await send(maker.action, fields);
        const wanted = find("option[selected]", systems);
        const option = document.createElement("option");
        option.value = wanted.value;
        option.textContent = wanted.textContent;
        chosen.append(option);
        chosen.value = option.value;
        chosen.dispatchEvent(new Event("change", { bubbles: true }));
      } catch (error) {
        problem.textContent = error.message;
        problem.hidden = false;
        isDone = false;
      }
    }
    return isDone;
  };

  const systemOf = (entry) => {
    const part = partOf(entry);
    return part ? find("[data-folder-system]", part).value : document.getElementById("target-system").value;
  };

  return { register, systemOf };
})();
