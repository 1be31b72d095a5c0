/* What the upload page asks the server: a few requests at a time, each of which ends with
   a part of a page or with a sentence. */
const uploading = (form) => {
  const LANES = 3;
  const STALLED_MS = 120_000;
  const find = (selector, root = form) => root.querySelector(selector);

  const say = (name, values = {}) =>
    form.getAttribute(`data-say-${name}`).replace(/\{(\w+)\}/g, (_, key) => values[key]);

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

  /* Return the part of a page that came back, or throw what is wrong instead. */
  const partOf = ({ status: code, responseText }) => {
    const answer = document.createElement("template");
    answer.innerHTML = responseText;
    find("[data-signed-out]").hidden = code !== 401;
    const problem = find("[data-problem]", answer.content);
    if (problem) throw new Error(problem.textContent);
    if (!find("[data-part], option", answer.content)) throw new Error(say("unexpected"));
    return answer.content;
  };

  /* Send a form; who signed in elsewhere meanwhile has another mark than this page. */
  const send = (action, fields, onprogress = () => {}) =>
    new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      let stall = 0;
      const wait = () => {
        clearTimeout(stall);
        stall = setTimeout(() => request.abort(), STALLED_MS);
      };
      const mark = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/);
      if (mark) fields.set("csrfmiddlewaretoken", mark[1]);
      request.open("POST", action);
      request.setRequestHeader("X-Requested-With", "XMLHttpRequest");
      request.upload.onprogress = ({ loaded, total: all }) => {
        wait();
        onprogress(all ? loaded / all : 0);
      };
      request.onerror = request.onabort = () => reject(new Error(say("unreachable")));
      request.onload = () => {
        try {
          resolve(partOf(request));
        } catch (error) {
          reject(error);
        }
      };
      request.onloadend = () => clearTimeout(stall);
      wait();
      request.send(fields);
    });

  /* A file that was changed or taken away since it was chosen cannot be sent either. */
  const reasonOf = async (error, { file }) => {
    try {
      await file.slice(0, 1).arrayBuffer();
      return error.message;
    } catch {
      return say("gone");
    }
  };

  /* What is stored is read and compared by others: say how far they are. Of two uploads
     in a row the later one goes on telling. */
  let followed = 0;
  const follow = async (address) => {
    const place = find("[data-processing-of]");
    const mine = (followed += 1);
    for (let wait = 200; mine === followed; wait = 1000) {
      await new Promise((resolve) => setTimeout(resolve, wait));
      const answer = await fetch(address).catch(() => null);
      const text = answer?.ok ? await answer.text().catch(() => null) : null;
      if (mine !== followed) return;
      if (text === null) {
        place.textContent = say("unfollowed");
        if (answer?.status === 404) return; // signed out meanwhile
        continue; // away for a moment
      }
      const page = new DOMParser().parseFromString(text, "text/html");
      place.replaceChildren(...page.body.children);
      place.dispatchEvent(new Event("partcome", { bubbles: true }));
      if (!find("[data-unfinished]", place)) return;
    }
  };

  return { say, inTurn, send, reasonOf, follow };
};
