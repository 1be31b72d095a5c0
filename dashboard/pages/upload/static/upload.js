/* The upload page with scripts: preview each file in its own request when it is added, and
   store the files on submission. The server stores nothing in between. */
const upload = (() => {
  const form = document.querySelector("[data-upload]");
  const find = (selector, root = form) => root.querySelector(selector);
  const list = find("[data-file-list]");
  /* Maps each entry of the list to its file; an archive has several entries. */
  const sourceOf = new WeakMap();

  /* The units of an entry, each stored with one system: the file, or each of its parts. */
  const unitsOf = (entry) => {
    const { folder } = entry.dataset;
    const parts = [...entry.querySelectorAll("[data-part]")];
    if (!parts.length) return [{ entry, folder, part: "", facts: {} }];
    return parts.map(({ dataset }) => ({
      entry,
      folder: [folder, dataset.part].filter(Boolean).join("/"),
      part: dataset.part,
      facts: { "system layer": dataset.systemLayer ?? "", os: dataset.os ?? "" },
    }));
  };

  const pendingEntries = () => [...list.querySelectorAll("[data-file-entry]:not([data-stored])")];

  /* Return the form data of a file: the form, its selected entries and the file. */
  const formDataFor = (source, action, entries) => {
    const fields = new FormData(form);
    fields.delete("file");
    fields.set("do", action);
    fields.set("name", source.path);
    fields.set("modified", source.file.lastModified);
    for (const entry of entries) {
      const index = entry.dataset.fileIndex;
      fields.append("include", index);
      for (const name of ["tool", "locale"]) fields.set(`${name}-${index}`, find(`[data-menu=${name}]`, entry)?.value ?? "");
    }
    fields.append("file", source.file);
    return fields;
  };

  return { form, list, sourceOf, find, unitsOf, pendingEntries, formDataFor, ...createUploader(form) };
})();
