/* Requests of the upload page: a few at a time; each returns a page fragment or fails with
   a message. */
const createUploader = (form) => {
  const MAX_REQUESTS = 3;
  const STALL_TIMEOUT_MS = 120_000;
  const find = (selector, root = form) => root.querySelector(selector);

  const say = (name, values = {}) =>
    form.getAttribute(`data-text-${name}`).replace(/\{(\w+)\}/g, (_, key) => values[key]);

  const requests = { busy: 0, queue: [] };
  const runNext = () => {
    while (requests.busy < MAX_REQUESTS && requests.queue.length) {
      requests.busy += 1;
      requests.queue.shift()().finally(() => {
        requests.busy -= 1;
        runNext();
      });
    }
  };
  const enqueue = (job) =>
    new Promise((resolve) => {
      requests.queue.push(() => job().then(resolve));
      runNext();
    });

  /* Return the fragment of a response, or throw its error message. */
  const parseFragment = ({ status, responseText }) => {
    const template = document.createElement("template");
    template.innerHTML = responseText;
    find("[data-signed-out]").hidden = status !== 401;
    const problem = find("[data-problem]", template.content);
    if (problem) throw new Error(problem.textContent);
    if (!find("[data-fragment], option", template.content)) throw new Error(say("unexpected"));
    return template.content;
  };

  /* Send a form with the current CSRF token, which a sign-in in another tab may change. */
  const send = (action, fields, onprogress = () => {}) =>
    new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      let stallTimer = 0;
      const restartStallTimer = () => {
        clearTimeout(stallTimer);
        stallTimer = setTimeout(() => request.abort(), STALL_TIMEOUT_MS);
      };
      const cookie = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/);
      if (cookie) fields.set("csrfmiddlewaretoken", cookie[1]);
      request.open("POST", action);
      request.setRequestHeader("X-Requested-With", "XMLHttpRequest");
      request.upload.onprogress = ({ loaded, total: all }) => {
        restartStallTimer();
        onprogress(all ? loaded / all : 0);
      };
      request.onerror = request.onabort = () => reject(new Error(say("unreachable")));
      request.onload = () => {
        try {
          resolve(parseFragment(request));
        } catch (error) {
          reject(error);
        }
      };
      request.onloadend = () => clearTimeout(stallTimer);
      restartStallTimer();
      request.send(fields);
    });

  /* When a form that adds an option to a menu is submitted, replace the menu's options. */
  const refillOnSubmit = (formId, menu, problem, onRefilled) => {
    document.getElementById(formId).addEventListener("submit", async (event) => {
      event.preventDefault();
      try {
        menu.replaceChildren(await send(event.target.action, new FormData(event.target)));
        problem.hidden = true;
        onRefilled();
        menu.focus();
      } catch (error) {
        problem.textContent = error.message;
        problem.hidden = false;
      }
    });
  };

  /* Return the reason of a failure: browsers also fail for changed or removed files. */
  const failureReason = async (error, { file }) => {
    try {
      await file.slice(0, 1).arrayBuffer();
      return error.message;
    } catch {
      return say("gone");
    }
  };

  /* Show the progress of background processing until it is done. A later upload replaces
     an earlier one. */
  let latestCall = 0;
  const followProcessing = async (url) => {
    const target = find("[data-processing-target]");
    const call = (latestCall += 1);
    for (let delay = 200; call === latestCall; delay = 1000) {
      await new Promise((resolve) => setTimeout(resolve, delay));
      const response = await fetch(url).catch(() => null);
      const text = response?.ok ? await response.text().catch(() => null) : null;
      if (call !== latestCall) return;
      if (text === null) {
        target.textContent = say("unfollowed");
        if (response?.status === 404) return; // signed out meanwhile
        continue; // temporary failure
      }
      const page = new DOMParser().parseFromString(text, "text/html");
      target.replaceChildren(...page.body.children);
      target.dispatchEvent(new Event("fragmentloaded", { bubbles: true }));
      if (!find("[data-unfinished]", target)) return;
    }
  };

  return { say, enqueue, send, refillOnSubmit, failureReason, followProcessing };
};
