/* The upload page with scripts: files are read as they come, one request a file, and
   stored when their place is chosen. The server keeps nothing in between. */
const upload = (() => {
  const form = document.querySelector("[data-upload]");
  const find = (selector, root = form) => root.querySelector(selector);
  const list = find("[data-list]");
  /* Which file an entry of the list came from: a zip has several entries. */
  const sources = new WeakMap();

  const unstored = () => [...list.querySelectorAll("[data-item]:not([data-stored])")];

  /* What is sent of a file: the form, which of its entries, and the file itself. */
  const fieldsOf = (source, what, entries) => {
    const fields = new FormData(form);
    fields.delete("file");
    fields.set("do", what);
    fields.set("name", source.path);
    fields.set("modified", source.file.lastModified);
    for (const entry of entries) {
      const index = entry.dataset.index;
      fields.append("pick", index);
      for (const name of ["tool", "locale"]) fields.set(`${name}-${index}`, find(`[data-menu=${name}]`, entry)?.value ?? "");
    }
    fields.append("file", source.file);
    return fields;
  };

  return { form, list, sources, find, unstored, fieldsOf, ...uploading(form) };
})();
