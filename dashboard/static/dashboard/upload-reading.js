/* Files of the upload page are read as they come, and again when a menu says otherwise. */
const addFiles = (() => {
  const { form, list, sources, find, say, unstored, inTurn, send, fieldsOf } = upload;
  const FEW = 6;
  const status = find("[data-status]");
  const waiting = document.getElementById("upload-waiting");

  const tally = () => {
    const all = list.querySelectorAll("li").length;
    const open = list.querySelectorAll("[data-waiting] progress:not([hidden])").length;
    status.textContent = all ? say("read", { done: all - open, all }) : "";
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
      if (entry.matches("[data-waiting]")) uploadEntry.trouble(entry, error.message);
      else uploadEntry.fail(entry, error.message);
      return [];
    }
  };

  const readAgain = (entry) => inTurn(() => read(entry, sources.get(entry), [entry]));

  const readFirst = async (entry, source) => {
    const entries = await read(entry, source);
    const isCrowded = list.children.length > FEW;
    for (const details of entries.map((each) => find(".upload-results", each))) {
      if (details && isCrowded) details.open = false;
    }
    tally();
  };

  const isHidden = ({ path }) => /(^|\/)(\.[^/]*|Thumbs\.db)$/.test(path);

  const isTooLarge = ({ file, path }) => file.size > Number(form.dataset.limitBytes) && !/\.zip$/i.test(path);

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
    const jobs = found.filter((source) => !isHidden(source)).map((source) => {
      const entry = waiting.content.firstElementChild.cloneNode(true);
      find("[data-name]", entry).textContent = source.path;
      list.append(entry);
      if (isTooLarge(source)) return uploadEntry.trouble(entry, say("large"));
      return inTurn(() => readFirst(entry, source));
    });
    tally();
    await Promise.all(jobs);
  };
})();
