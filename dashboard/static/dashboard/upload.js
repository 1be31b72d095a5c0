/* The upload page with scripts: files are read as they come, one request a file, and
   stored when their place is chosen. The server keeps nothing in between. */
(() => {
  const form = document.querySelector("[data-upload]");
  if (!form) return;

  const LANES = 3;
  const find = (selector, root = form) => root.querySelector(selector);
  const list = find("[data-list]");
  const status = find("[data-status]");
  const storedStatus = find("[data-stored-status]");
  const total = find("[data-total]");
  const button = find(".upload-button");
  const drop = find("[data-drop]");
  const waiting = document.getElementById("upload-waiting");
  /* Which file an entry of the list came from: a zip has several entries. */
  const sources = new WeakMap();

  const say = (name, values = {}) =>
    form.getAttribute(`data-say-${name}`).replace(/\{(\w+)\}/g, (_, key) => values[key]);

  /* Requests ------------------------------------------------------------------ */

  const lane = { busy: 0, queue: [] };
  const advance = () => {
    while (lane.busy < LANES && lane.queue.length) {
      lane.busy += 1;
      lane.queue.shift()().finally(() => {
        lane.busy -= 1;
        advance();
      });
    }
  };
  const inTurn = (job) =>
    new Promise((resolve) => {
      lane.queue.push(() => job().then(resolve));
      advance();
    });

  /* Send a form; return the part of a page that comes back. */
  const send = (action, fields, onprogress = () => {}) =>
    new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open("POST", action);
      request.setRequestHeader("X-Requested-With", "XMLHttpRequest");
      request.upload.onprogress = ({ loaded, total: all }) => onprogress(all ? loaded / all : 0);
      request.onerror = () => reject(new Error(say("unreachable")));
      request.onload = () => {
        const answer = document.createElement("template");
        answer.innerHTML = request.responseText;
        const isPart = find("[data-part], option", answer.content);
        const problem = find("[data-problem]", answer.content);
        if (problem) reject(new Error(problem.textContent));
        else if (isPart) resolve(answer.content);
        else reject(new Error(say("unexpected")));
      };
      request.send(fields);
    });

  const fieldsFor = (source, what) => {
    const fields = new FormData(form);
    fields.delete("file");
    fields.set("do", what);
    fields.set("name", source.path);
    return fields;
  };

  /* Reading ------------------------------------------------------------------- */

  const showTrouble = (entry, text) => {
    const trouble = find("[data-trouble]", entry);
    trouble.textContent = text;
    trouble.hidden = false;
    find("progress", entry).hidden = true;
    find("[data-badge]", entry).className = "badge badge-rejected";
  };

  const progressOf = (entry) => {
    const bar = find("progress", entry);
    bar.hidden = false;
    return (share) => {
      if (share < 1) bar.value = share;
      else bar.removeAttribute("value"); // sent; the server is at work
    };
  };

  const tally = () => {
    const all = list.querySelectorAll("li").length;
    const open = list.querySelectorAll("[data-waiting] progress:not([hidden])").length;
    status.textContent = all ? say("read", { done: all - open, all }) : "";
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

  const named = (entry, name) => find(`[data-menu=${name}]`, entry)?.value ?? "";

  /* Replace an entry by what is read in its file; several entries if it is a zip. */
  const read = async (entry, source, change = () => {}) => {
    const fields = fieldsFor(source, "preview");
    change(fields);
    fields.append("file", source.file);
    try {
      const answer = await send(form.action, fields, progressOf(entry));
      const entries = [...answer.querySelectorAll("[data-item]")];
      for (const each of entries) {
        sources.set(each, source);
        furnish(each);
      }
      entry.replaceWith(...entries);
      /* A large zip is read in several goes. */
      for (const each of entries.filter((one) => "later" in one.dataset)) readAgain(each);
      return entries;
    } catch (error) {
      if (entry.matches("[data-waiting]")) showTrouble(entry, error.message);
      else fail(entry, error.message);
      return [];
    }
  };

  const readAgain = (entry) =>
    inTurn(() =>
      read(entry, sources.get(entry), (fields) => {
        const index = entry.dataset.index;
        fields.append("pick", index);
        for (const name of ["tool", "locale"]) fields.set(`${name}-${index}`, named(entry, name));
      }),
    );

  const isHidden = ({ path }) => /(^|\/)(\.[^/]*|Thumbs\.db)$/.test(path);

  const add = async (found) => {
    const files = found.filter((source) => !isHidden(source));
    const jobs = files.map((source) => {
      const entry = waiting.content.firstElementChild.cloneNode(true);
      find("[data-name]", entry).textContent = source.path;
      list.append(entry);
      const isLarge = source.file.size > Number(form.dataset.limitBytes);
      if (isLarge && !/\.zip$/i.test(source.path)) {
        showTrouble(entry, say("large"));
        return null;
      }
      return inTurn(() => read(entry, source)).then((entries) => {
        const isCrowded = list.children.length > 6;
        for (const details of entries.map((each) => find(".upload-results", each))) {
          if (details && isCrowded) details.open = false;
        }
        tally();
      });
    });
    tally();
    await Promise.all(jobs);
  };

  /* Choosing files ------------------------------------------------------------ */

  for (const id of ["upload-file", "upload-folder"]) {
    const input = document.getElementById(id);
    input.addEventListener("change", () => {
      add([...input.files].map((file) => ({ file, path: file.webkitRelativePath || file.name })));
      input.value = "";
    });
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
      if (entry) await add(await filesIn(entry));
      else if (file) await add([{ file, path: file.name }]);
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

  const unstored = () => [...list.querySelectorAll("[data-item]:not([data-stored])")];

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

  /* Storing ------------------------------------------------------------------- */

  const fail = (entry, text) => {
    const outcome = document.createElement("p");
    outcome.className = "upload-outcome upload-failed";
    outcome.textContent = text;
    find("[data-result]", entry).replaceChildren(outcome);
    find("progress", entry).hidden = true;
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

  const store = async (source, entries) => {
    const fields = fieldsFor(source, "store");
    for (const entry of entries) {
      const index = entry.dataset.index;
      fields.append("pick", index);
      for (const name of ["tool", "locale"]) fields.set(`${name}-${index}`, named(entry, name));
    }
    fields.append("file", source.file);
    const bars = entries.map(progressOf);
    try {
      const answer = await send(form.action, fields, (share) => bars.forEach((bar) => bar(share)));
      for (const entry of entries) {
        const outcome = find(`[data-outcome="${entry.dataset.index}"]`, answer);
        if (outcome) settle(entry, outcome);
        else fail(entry, say("unexpected"));
      }
    } catch (error) {
      for (const entry of entries) fail(entry, error.message);
    }
  };

  /* What is stored is read and compared by others: say how far they are. */
  const follow = async (address) => {
    const place = find("[data-processing-of]");
    for (let wait = 200; ; wait = 1000) {
      await new Promise((resolve) => setTimeout(resolve, wait));
      const answer = await fetch(address).catch(() => null);
      if (!answer) continue; // away for a moment
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      place.replaceChildren(...page.body.children);
      if (!find("[data-unfinished]", place)) return;
    }
  };

  const bySource = (entries) => {
    const groups = new Map();
    for (const entry of entries) {
      const source = sources.get(entry);
      groups.set(source, [...(groups.get(source) ?? []), entry]);
    }
    return [...groups];
  };

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const chosen = unstored().filter((entry) => find("[data-pick]", entry)?.checked);
    if (!chosen.length) {
      storedStatus.textContent = say("nothing");
      return;
    }
    button.disabled = true;
    total.hidden = false;
    total.value = 0;
    const campaign = campaigns.selectedOptions[0];
    const count = () => {
      const done = chosen.filter((entry) => "stored" in entry.dataset).length;
      total.value = done / chosen.length;
      storedStatus.textContent = say("stored", { done, all: chosen.length });
    };
    count();
    await Promise.all(
      bySource(chosen).map(([source, entries]) => inTurn(() => store(source, entries)).then(count)),
    );
    button.disabled = false;
    const link = find("[data-runs-link]");
    link.href = campaign.dataset.runs;
    link.hidden = false;
    storedStatus.focus();
    await follow(campaign.dataset.processing);
  });

  addEventListener("beforeunload", (event) => {
    if (unstored().some((entry) => find("[data-pick]", entry)?.checked)) event.preventDefault();
  });

  /* Systems ------------------------------------------------------------------- */

  const campaigns = document.getElementById("target-campaign");
  const systems = document.getElementById("target-system");

  /* What the chosen campaign has measured comes first. */
  const arrange = () => {
    const chosen = systems.value;
    find("[data-measured]", systems)?.remove();
    const fitting = [...systems.querySelectorAll("[data-campaigns]")].filter((option) =>
      option.dataset.campaigns.split(" ").includes(campaigns?.value),
    );
    if (!fitting.length) return;
    const group = document.createElement("optgroup");
    group.label = say("measured");
    group.dataset.measured = "";
    group.append(...fitting.map((option) => option.cloneNode(true)));
    systems.firstElementChild.after(group);
    systems.value = chosen;
  };
  campaigns?.addEventListener("change", arrange);
  arrange();

  document.getElementById("new-system").addEventListener("submit", async (event) => {
    event.preventDefault();
    const problem = find("[data-system-problem]");
    try {
      systems.replaceChildren(await send(event.target.action, new FormData(event.target)));
      arrange();
      problem.hidden = true;
      find("[data-new-system]").open = false;
      systems.focus();
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
    }
  });
})();
