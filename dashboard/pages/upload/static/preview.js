/* Preview files when they are added, and again when a menu changes. */
const addFiles = (() => {
  const { form, list, sourceOf, find, say, pendingEntries, enqueue, send, failureReason, formDataFor } = upload;
  const MAX_OPEN_PREVIEWS = 6;
  const status = find("[data-status]");
  const entryTemplate = document.getElementById("upload-entry");

  const updateStatus = () => {
    const all = list.querySelectorAll("li").length;
    const unfinished = list.querySelectorAll("[data-pending] progress:not([hidden]), [data-deferred-file]").length;
    const read = list.querySelectorAll("[data-read]").length;
    status.textContent = all ? say("read", { done: all - unfinished, all, read }) : "";
    list.dispatchEvent(new CustomEvent("previewschanged", { detail: { unfinished } }));
  };

  /* Replace an entry by the preview of its file; an archive gives several entries. */
  const previewFile = async (entry, source, included = []) => {
    try {
      const fragment = await send(form.action, formDataFor(source, "preview", included), uploadEntry.progress(entry));
      const entries = [...fragment.querySelectorAll("[data-file-entry]")];
      for (const item of entries) {
        sourceOf.set(item, source);
        uploadEntry.addHintMenus(item);
      }
      entry.replaceWith(...entries);
      /* A large archive is previewed in several requests. */
      for (const item of entries.filter((item) => "deferredFile" in item.dataset)) previewAgain(item);
      return entries;
    } catch (error) {
      const text = await failureReason(error, source);
      if (entry.matches("[data-pending]")) uploadEntry.showProblem(entry, text, () => previewFirst(entry, source));
      else uploadEntry.showFailure(entry, text);
      return [];
    } finally {
      updateStatus();
    }
  };

  const previewAgain = (entry) => enqueue(() => previewFile(entry, sourceOf.get(entry), [entry]));

  const previewFirst = async (entry, source) => {
    uploadEntry.hideProblem(entry);
    const entries = await enqueue(() => previewFile(entry, source));
    const isCrowded = list.children.length > MAX_OPEN_PREVIEWS;
    for (const details of entries.map((item) => find(".upload-results", item))) {
      if (details && isCrowded) details.open = false;
    }
  };

  const isHidden = ({ path }) => /(^|\/)(\.[^/]*|Thumbs\.db)$/.test(path);

  /* Return which size limit a file exceeds: "zip", "file" or neither. */
  const sizeLimitKind = ({ file, path }) => {
    const limit = /\.(zip|tar|tgz|tar\.gz)$/i.test(path) ? "zip" : "file";
    return file.size > Number(form.getAttribute(`data-${limit}-limit-bytes`)) ? limit : "";
  };

  form.addEventListener("change", ({ target }) => {
    if (target.matches("[data-menu]")) previewAgain(target.closest("[data-file-entry]"));
    if (target.matches("#upload-tool, #upload-locale")) {
      for (const entry of pendingEntries()) {
        const menu = find(`[data-menu=${target.name}]`, entry);
        if (menu) {
          menu.value = target.value;
          previewAgain(entry);
        }
      }
    }
  });

  return async (files) => {
    /* Browsers return the files of a folder in any order. */
    files.sort((a, b) => a.path.localeCompare(b.path, undefined, { numeric: true }));
    const jobs = files.filter((source) => !isHidden(source)).map((source) => {
      const entry = entryTemplate.content.firstElementChild.cloneNode(true);
      find("[data-name]", entry).textContent = source.path;
      list.append(entry);
      const limit = sizeLimitKind(source);
      if (limit) return uploadEntry.showProblem(entry, say(`large-${limit}`));
      return previewFirst(entry, source);
    });
    updateStatus();
    await Promise.all(jobs);
  };
})();
