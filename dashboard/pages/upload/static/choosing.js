/* Files for the upload page: chosen, a folder of them, or dropped anywhere on the page. */
(() => {
  const drop = upload.find("[data-drop]");

  for (const id of ["upload-file", "upload-folder"]) {
    const input = document.getElementById(id);
    const take = () => {
      if (!input.files.length) return;
      addFiles([...input.files].map((file) => ({ file, path: file.webkitRelativePath || file.name })));
      input.value = "";
    };
    input.addEventListener("change", take);
    /* Who is quick has chosen before all scripts have come. */
    document.addEventListener("DOMContentLoaded", take, { once: true });
  }

  const entriesIn = (reader) => new Promise((resolve, reject) => reader.readEntries(resolve, reject));

  const filesIn = async (entry, prefix = "") => {
    const path = prefix + entry.name;
    if (entry.isFile) {
      return [{ file: await new Promise((resolve, reject) => entry.file(resolve, reject)), path }];
    }
    const reader = entry.createReader();
    const found = [];
    for (let some = await entriesIn(reader); some.length; some = await entriesIn(reader)) {
      for (const each of some) found.push(...(await filesIn(each, `${path}/`)));
    }
    return found;
  };

  const dropped = async (items) => {
    /* Both are gone once the event is over: ask before waiting for anything. */
    const taken = [...items].map((item) => [item.webkitGetAsEntry?.(), item.getAsFile()]);
    for (const [entry, file] of taken) {
      if (entry) await addFiles(await filesIn(entry));
      else if (file) await addFiles([{ file, path: file.name }]);
    }
  };

  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.classList.add("drop-over");
  });
  document.addEventListener("dragleave", ({ relatedTarget }) => {
    if (!relatedTarget) drop.classList.remove("drop-over");
  });
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("drop-over");
    dropped(event.dataTransfer.items);
  });
})();
