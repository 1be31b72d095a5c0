/* The upload page with scripts: files are read as they come, one request a file, and
   stored when their place is chosen. The server keeps nothing in between. */
const upload = (() => {
  const LANES = 3;
  const form = document.querySelector("[data-upload]");
  const find = (selector, root = form) => root.querySelector(selector);
  const list = find("[data-list]");
  /* Which file an entry of the list came from: a zip has several entries. */
  const sources = new WeakMap();

  const say = (name, values = {}) =>
    form.getAttribute(`data-say-${name}`).replace(/\{(\w+)\}/g, (_, key) => values[key]);

  const unstored = () => [...list.querySelectorAll("[data-item]:not([data-stored])")];

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

  /* What is sent of a file: the form, which of its entries, and the file itself. */
  const fieldsOf = (source, what, entries) => {
    const fields = new FormData(form);
    fields.delete("file");
    fields.set("do", what);
    fields.set("name", source.path);
    for (const entry of entries) {
      const index = entry.dataset.index;
      fields.append("pick", index);
      for (const name of ["tool", "locale"]) fields.set(`${name}-${index}`, find(`[data-menu=${name}]`, entry)?.value ?? "");
    }
    fields.append("file", source.file);
    return fields;
  };

  return { form, list, sources, find, say, unstored, inTurn, send, fieldsOf };
})();
