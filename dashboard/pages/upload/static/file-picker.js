/* Take files from the file and folder inputs and from drops anywhere on the page. */
(() => {
  const dropZone = upload.find("[data-drop]");

  for (const id of ["upload-file", "upload-folder"]) {
    const input = document.getElementById(id);
    const takeFiles = () => {
      if (!input.files.length) return;
      addFiles([...input.files].map((file) => ({ file, path: file.webkitRelativePath || file.name })));
      input.value = "";
    };
    input.addEventListener("change", takeFiles);
    /* Files may have been chosen before all scripts were loaded. */
    document.addEventListener("DOMContentLoaded", takeFiles, { once: true });
  }

  const entriesIn = (reader) => new Promise((resolve, reject) => reader.readEntries(resolve, reject));

  const filesIn = async (entry, prefix = "") => {
    const path = prefix + entry.name;
    if (entry.isFile) {
      return [{ file: await new Promise((resolve, reject) => entry.file(resolve, reject)), path }];
    }
    const reader = entry.createReader();
    const files = [];
    for (let batch = await entriesIn(reader); batch.length; batch = await entriesIn(reader)) {
      for (const child of batch) files.push(...(await filesIn(child, `${path}/`)));
    }
    return files;
  };

  const addDropped = async (items) => {
    /* Items are only available during the event, so read them before any await. */
    const dropped = [...items].map((item) => [item.webkitGetAsEntry?.(), item.getAsFile()]);
    for (const [entry, file] of dropped) {
      if (entry) await addFiles(await filesIn(entry));
      else if (file) await addFiles([{ file, path: file.name }]);
    }
  };

  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    dropZone.classList.add("drop-over");
  });
  document.addEventListener("dragleave", ({ relatedTarget }) => {
    if (!relatedTarget) dropZone.classList.remove("drop-over");
  });
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    dropZone.classList.remove("drop-over");
    addDropped(event.dataTransfer.items);
  });
})();
