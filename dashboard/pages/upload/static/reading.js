/* Files of the upload page are read as they come, and again when a menu says otherwise. */
const addFiles = (() => {
  const { form, list, sources, find, say, unstored, inTurn, send, reasonOf, fieldsOf } = upload;
  const FEW = 6;
  const status = find("[data-status]");
  const waiting = document.getElementById("upload-waiting");

  const tally = () => {
    const all = list.querySelectorAll("li").length;
    const open = list.querySelectorAll("[data-waiting] progress:not([hidden]), [data-later]").length;
    const read = list.querySelectorAll("[data-read]").length;
    status.textContent = all ? say("read", { done: all - open, all, read }) : "";
    list.dispatchEvent(new CustomEvent("tallied", { detail: { open } }));
  };

  /* Replace an entry by what is read in its file; several entries if it is a zip. */
  const read = async (entry, source, picked = []) => {
    try {
      const answer = await send(form.action, fieldsOf(source, "preview", picked), uploadEntry.progress(entry));
      const entries = [...answer.querySelectorAll("[data-item]")];
      for (const each of entries) {
        sources.set(each, source);
        uploadEntry.furnish(each);
      }
      entry.replaceWith(...entries);
      /* A large zip is read in several goes. */
      for (const each of entries.filter((one) => "later" in one.dataset)) readAgain(each);
      return entries;
    } catch (error) {
      const text = await reasonOf(error, source);
      if (entry.matches("[data-waiting]")) uploadEntry.trouble(entry, text, () => readFirst(entry, source));
      else uploadEntry.fail(entry, text);
      return [];
    } finally {
      tally();
    }
  };

  const readAgain = (entry) => inTurn(() => read(entry, sources.get(entry), [entry]));

  const readFirst = async (entry, source) => {
    uploadEntry.hideTrouble(entry);
    const entries = await inTurn(() => read(entry, source));
    const isCrowded = list.children.length > FEW;
    for (const details of entries.map((each) => find(".upload-results", each))) {
      if (details && isCrowded) details.open = false;
    }
  };

  const isHidden = ({ path }) => /(^|\/)(\.[^/]*|Thumbs\.db)$/.test(path);

  /* What is too large is said before it is sent. */
  const largeKind = ({ file, path }) => {
    const kind = /\.(zip|tar|tgz|tar\.gz)$/i.test(path) ? "zip" : "file";
    return file.size > Number(form.getAttribute(`data-${kind}-limit-bytes`)) ? kind : "";
  };

  form.addEventListener("change", ({ target }) => {
    if (target.matches("[data-menu]")) readAgain(target.closest("[data-item]"));
    if (target.matches("#upload-tool, #upload-locale")) {
      for (const entry of unstored()) {
        const menu = find(`[data-menu=${target.name}]`, entry);
        if (menu) {
          menu.value = target.value;
          readAgain(entry);
        }
      }
    }
  });

  return async (found) => {
    /* Browsers give the files of a folder in any order. */
    found.sort((one, other) => one.path.localeCompare(other.path, undefined, { numeric: true }));
    const jobs = found.filter((source) => !isHidden(source)).map((source) => {
      const entry = waiting.content.firstElementChild.cloneNode(true);
      find("[data-name]", entry).textContent = source.path;
      list.append(entry);
      const kind = largeKind(source);
      if (kind) return uploadEntry.trouble(entry, say(`large-${kind}`));
      return readFirst(entry, source);
    });
    tally();
    await Promise.all(jobs);
  };
})();
